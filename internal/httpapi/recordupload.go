package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

const (
	maxParts     = 17       // of an upload: one a section, and what says what to do with them
	maxPartBytes = 64 << 10 // of the part that is JSON
)

// readUpload reads a publication that comes in parts (RFC 7578), in any order: one
// that is JSON, and one a section, of exact bytes.
func readUpload(ctx context.Context, parts *multipart.Reader) (p record.Publication, err error) {
	call := callOf(ctx)
	rule := call.operation.body.media[mediaMultipart]
	room := slab{make([]byte, 0, max(call.announced, 0))}
	bodies := map[string][]byte{}
	described := false
	for count := 1; ; count++ {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF) && !described:
			return p, malformed("part_missing", "There is no part "+rule.part+".")
		case errors.Is(err, io.EOF):
			p.Bodies = bodies
			return p, nil
		case err != nil:
			return p, partsUnreadable(err)
		case count > maxParts:
			return p, malformed("too_many_parts", "A publication has at most 16 sections.")
		}
		name, err := partName(part)
		if err != nil {
			return p, err
		}
		switch _, twice := bodies[name]; {
		case twice, name == rule.part && described:
			return p, malformed("part_twice", "Two parts have the same name.").at(joinPointer([]string{name}))
		case name == rule.part:
			described = true
			if p, err = readDescription(part, rule); err != nil {
				return p, err
			}
		default:
			if bodies[name], err = room.readAll(part); err != nil {
				return p, partsUnreadable(err)
			}
		}
	}
}

// readDescription reads the part that is JSON, as strictly as any body.
func readDescription(part *multipart.Part, rule *mediaRule) (record.Publication, error) {
	if media, _, err := mime.ParseMediaType(part.Header.Get("Content-Type")); part.Header.Get("Content-Type") != "" && (err != nil || media != mediaJSON) {
		return record.Publication{}, malformed("part_media_type", "The part "+rule.part+" must be "+mediaJSON+".")
	}
	text, err := io.ReadAll(io.LimitReader(part, maxPartBytes+1))
	switch {
	case err != nil:
		return record.Publication{}, partsUnreadable(err)
	case len(text) > maxPartBytes:
		return record.Publication{}, malformed("part_too_large", "The part "+rule.part+" has more than 64 KiB.")
	}
	value, err := parseJSON(text)
	if err != nil {
		return record.Publication{}, err
	}
	if err := judge(rule.schema, value); err != nil {
		return record.Publication{}, err
	}
	var described PublicationPart
	if err := bind(text, &described); err != nil {
		return record.Publication{}, err
	}
	return decodePart(described)
}

// partName refuses a part that isn't a field's, and one that is encoded: what it
// holds are the bytes themselves (RFC 7578, section 4.7).
func partName(part *multipart.Part) (string, error) {
	name := part.FormName()
	if name == "" {
		return "", malformed("part_unnamed", "Each part has Content-Disposition: form-data, with a name.")
	}
	switch strings.ToLower(part.Header.Get("Content-Transfer-Encoding")) {
	case "", "binary", "8bit", "7bit":
		return name, nil
	}
	return "", malformed("part_encoded", "A part's bytes are sent as they are, without a Content-Transfer-Encoding.").at(joinPointer([]string{name}))
}

// partsUnreadable is for parts that can't be told from another, or didn't come to
// their end.
func partsUnreadable(err error) *problem {
	if p := unreadable(err); p.code != "body_unreadable" {
		return p
	}
	return malformed("multipart_malformed", "The parts can't be read, or broke off before their end.").because(err)
}

// slab is room for several bodies that is taken at once.
type slab struct{ free []byte }

// readAll reads to the end into what is free, and into more where that isn't enough.
func (s *slab) readAll(from io.Reader) ([]byte, error) {
	into := s.free[:0]
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := from.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		switch {
		case errors.Is(err, io.EOF):
			s.free = into[len(into):]
			return into[:len(into):len(into)], nil
		case err != nil:
			return nil, err
		}
	}
}
