package migration

import (
	"time"
)

// Qualification is what a build was found to be able to do with the databases and
// the bucket of an installation: the report of one "holdfast qualify". A plan
// names it by its hash, and is made only by a process of the same build with the
// same databases and bucket.
//
// Times are in UTC to the microsecond, and all numbers whole.
type Qualification struct {
	Type         string        `json:"type"` // QualificationType
	Build        string        `json:"build"`
	StartedAt    time.Time     `json:"started_at"`
	EndedAt      time.Time     `json:"ended_at"`
	Databases    []Database    `json:"databases"` // by name
	Store        StorePlace    `json:"store"`
	Commands     []string      `json:"commands"` // that were run, with their arguments
	Observations []Observation `json:"observations"`
	Forward      Movement      `json:"forward"` // from SQL into the store
	Back         Movement      `json:"back"`
	Limits       []string      `json:"limits"` // of what the report says
	Passed       bool          `json:"passed"` // every observation did
}

// QualificationType is in every report, and so in every hash.
const QualificationType = "holdfast-qualification-v1"

// Observation is one promise, and whether it was kept.
type Observation struct {
	Promise string `json:"promise"`
	Passed  bool   `json:"passed"`
	Detail  string `json:"detail"` // what was seen; why it failed
}

// Movement is what a small migration moved, and how fast. Nobody knows a capacity
// from it: the rates are those of the slowest pass and of the fastest, so that an
// estimate is a range.
type Movement struct {
	Records      int64 `json:"records"`
	Bodies       int64 `json:"bodies"`
	Bytes        int64 `json:"bytes"` // of bodies
	Passes       int64 `json:"passes"`
	Milliseconds int64 `json:"milliseconds"` // that the passes took
	LowRecords   int64 `json:"low_records_per_minute"`
	HighRecords  int64 `json:"high_records_per_minute"`
	LowBytes     int64 `json:"low_bytes_per_second"`
	HighBytes    int64 `json:"high_bytes_per_second"`
}

// Canonical is the report as RFC 8785 JSON.
func (q *Qualification) Canonical() ([]byte, error) { return canonical(q) }

// Hash is the SHA-256 of the canonical report.
func (q *Qualification) Hash() (Hash, error) { return hashOf(q) }
