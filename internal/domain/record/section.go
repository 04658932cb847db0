package record

import "time"

// Section is one section of a record, as it stands since its last change. Its JSON,
// and a Record's, is how receipts keep it.
type Section struct {
	Name      string    `json:"section"`
	Live      bool      `json:"live"`            // or a tombstone, which has no body: not even an empty one
	Digest    Digest    `json:"digest"`          // of a live one's body
	Length    int64     `json:"length"`          // bytes; 0 for a tombstone
	Producer  string    `json:"producer"`        // that published it
	Sequence  int64     `json:"export_sequence"` // of its last change, in its collection's export
	UpdatedAt time.Time `json:"updated_at"`      // of its last change
	Body      []byte    `json:"-"`               // where it was asked for

	place place
}

// place is where a section's row is, and so its body.
type place struct {
	format     int16 // 0 for nowhere yet
	generation int32 // of an object
	chunked    bool  // in SQL, in section_chunks
}

// Record is the sections under an item key. They share the revision.
type Record struct {
	Collection string    `json:"collection"`
	Key        string    `json:"key"`
	Revision   int64     `json:"revision"` // grows by one with each change, for good
	Live       bool      `json:"live"`     // any of its sections
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
	Sections   []Section `json:"sections"` // by name
}

// Section gives one of the record's sections.
func (r *Record) Section(name string) (*Section, bool) {
	for i := range r.Sections {
		if r.Sections[i].Name == name {
			return &r.Sections[i], true
		}
	}
	return nil, false
}

// The two storage formats.
const (
	FormatSQL   int16 = 1 // bodies in SQL, inline or in chunks
	FormatStore int16 = 2 // bodies in the object store
)

const chunkSize = 512 << 10 // bytes: of a chunk, and of the largest body that is inline
