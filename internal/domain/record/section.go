package record

import "time"

// Section is one section of a record, as it stands since its last change.
type Section struct {
	Name      string
	Live      bool      // or a tombstone, which has no body: not even an empty one
	Digest    Digest    // of a live one's body
	Length    int64     // bytes; 0 for a tombstone
	Producer  string    // that published it
	Sequence  int64     // of its last change, in its collection's export
	UpdatedAt time.Time // of its last change
	Body      []byte    // where it was asked for

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
	Collection string
	Key        string
	Revision   int64 // grows by one with each change, for good
	Live       bool  // any of its sections
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Sections   []Section // by name
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
