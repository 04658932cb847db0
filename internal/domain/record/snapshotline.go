package record

import (
	"bytes"
	"encoding/json"
	"time"
)

// SnapshotLine is a line of a snapshot: a section as it stood when the line was
// written. Of the lines of a section the last one holds; the record's revision is
// that of its own last line. A tombstone has a line too, without digest and body.
type SnapshotLine struct {
	Key            string    `json:"key"`
	Section        string    `json:"section"`
	Live           bool      `json:"live"`
	Digest         *Digest   `json:"digest,omitempty"`
	Length         int64     `json:"length"`
	Producer       string    `json:"producer"`
	Revision       int64     `json:"revision"` // of the record
	ExportSequence int64     `json:"export_sequence"`
	UpdatedAt      time.Time `json:"updated_at"`
	Body           *[]byte   `json:"body,omitempty"` // in base64, also an empty one
}

// maxPart is how many bytes a part has at most, but for a single line that is
// longer.
const maxPart = 8 << 20

// snapshotRoom is what making a part takes in memory: a page, and its encoding,
// with the longest line of it once more.
func snapshotRoom(limits Limits) int64 {
	return max(maxSnapshotBytes, limits.Body) + 2*max(maxPart, 2*limits.Body)
}

// lineOverhead is about what a line has beside its key and its body.
const lineOverhead = 400

// encodePart writes a page as lines, and gives how many there was room for.
func encodePart(page []Exported) (part []byte, lines int, err error) {
	size := 0
	for _, e := range page {
		size += lineOverhead + len(e.Key) + len(e.Body)*4/3
	}
	var buffer bytes.Buffer
	buffer.Grow(min(size, maxPart))
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	for i := range page {
		before := buffer.Len()
		if err := encoder.Encode(lineOf(&page[i])); err != nil {
			return nil, 0, err
		}
		if i > 0 && buffer.Len() > maxPart {
			return buffer.Bytes()[:before], i, nil
		}
	}
	return buffer.Bytes(), len(page), nil
}

func lineOf(e *Exported) SnapshotLine {
	line := SnapshotLine{
		Key: e.Key, Section: e.Name, Live: e.Live, Length: e.Length, Producer: e.Producer,
		Revision: e.Revision, ExportSequence: e.Sequence, UpdatedAt: e.UpdatedAt,
	}
	if e.Live {
		line.Digest, line.Body = &e.Digest, &e.Body
	}
	return line
}
