package httpapi

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// jsonWriter is a JSON value that is written piece by piece, since its text would be
// too long to be held.
type jsonWriter interface {
	writeJSON(w io.Writer) error
}

// bodiedRecord is a record with the bodies of its live sections.
type bodiedRecord struct{ record.Record }

// writeJSON writes the record. Of the bodies' base64 it holds no more than a buffer.
func (r bodiedRecord) writeJSON(w io.Writer) error {
	bare := encodeRecord(r.Record)
	bare.Sections = map[string]RecordSection{}
	return around(w, bare, `"sections":{}`, func(w *bufio.Writer) error {
		for i := range r.Sections {
			section := &r.Sections[i]
			separate(w, i)
			if err := writeValue(w, section.Name); err != nil {
				return err
			}
			w.WriteByte(':')
			if err := writeBodied(w, encodeSection(section), section.Body, section.Live); err != nil {
				return err
			}
		}
		return nil
	})
}

// bodiedPage is a page of an export with bodies.
type bodiedPage struct{ *record.ExportPage }

// writeJSON writes the page, as bodiedRecord does.
func (p bodiedPage) writeJSON(w io.Writer) error {
	bare := encodePage(p.ExportPage)
	encoded := bare.Records
	bare.Records = []ExportedSection{}
	return around(w, bare, `"records":[]`, func(w *bufio.Writer) error {
		for i := range encoded {
			separate(w, i)
			e := &p.Records[i]
			if err := writeBodied(w, encoded[i], e.Body, e.Live && !e.Unavailable); err != nil {
				return err
			}
		}
		return nil
	})
}

// around writes a value, and in it, where its text has the empty member, what inner
// writes. No text that a caller chose can look like the member: its quotes are
// escaped.
func around(w io.Writer, bare any, member string, inner func(*bufio.Writer) error) error {
	text, err := json.Marshal(bare)
	if err != nil {
		return err
	}
	at := bytes.Index(text, []byte(member)) + len(member) - 1
	out := bufio.NewWriterSize(w, 64<<10)
	out.Write(text[:at]) // bufio keeps its error for Flush
	if err := inner(out); err != nil {
		return err
	}
	out.Write(text[at:])
	return out.Flush()
}

// writeBodied writes an object with a body as its last member, or without.
func writeBodied(w *bufio.Writer, object any, body []byte, has bool) error {
	text, err := json.Marshal(object)
	if err != nil || !has {
		w.Write(text)
		return err
	}
	w.Write(text[:len(text)-1])
	w.WriteString(`,"body":"`)
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	encoder.Write(body)
	encoder.Close()
	_, err = w.WriteString(`"}`)
	return err
}

func writeValue(w *bufio.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func separate(w *bufio.Writer, i int) {
	if i > 0 {
		w.WriteByte(',')
	}
}

// writeJSONValue answers with a value.
func writeJSONValue(w http.ResponseWriter, value jsonWriter) error {
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(http.StatusOK)
	return value.writeJSON(w)
}
