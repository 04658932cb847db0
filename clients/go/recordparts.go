package holdfast

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
)

// changeParts are a change as multipart/form-data, which needs a third less room
// than base64 in JSON. The bodies are not copied.
type changeParts struct {
	contentType string
	pieces      [][]byte
	length      int64
}

func newChangeParts(c *RecordChange) (*changeParts, error) {
	publication, err := json.Marshal(c.part())
	if err != nil {
		return nil, err
	}
	var between bytes.Buffer // what stands before, between and behind the bodies
	form := multipart.NewWriter(&between)
	p := &changeParts{contentType: form.FormDataContentType()}
	add := func(name, contentType string, body []byte) error {
		_, err := form.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {mime.FormatMediaType("form-data", map[string]string{"name": name})},
			"Content-Type":        {contentType},
		})
		p.add(bytes.Clone(between.Bytes()), body)
		between.Reset()
		return err
	}
	if err := add("publication", "application/json", publication); err != nil {
		return nil, err
	}
	for _, section := range slices.Sorted(maps.Keys(c.Sections)) {
		if err := add(section, "application/octet-stream", c.Sections[section]); err != nil {
			return nil, err
		}
	}
	if err := form.Close(); err != nil {
		return nil, err
	}
	p.add(between.Bytes())
	return p, nil
}

func (p *changeParts) add(pieces ...[]byte) {
	p.pieces = append(p.pieces, pieces...)
	for _, piece := range pieces {
		p.length += int64(len(piece))
	}
}

// reader gives all of it from the beginning.
func (p *changeParts) reader() io.Reader {
	readers := make([]io.Reader, len(p.pieces))
	for i, piece := range p.pieces {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// describe lets a request say how long it is, and be sent again.
func (p *changeParts) describe(_ context.Context, request *http.Request) error {
	request.ContentLength = p.length
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(p.reader()), nil }
	return nil
}
