package migration

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Verification is what a reader is to do: through the public API, with a token of
// its own, within its limits. It answers with a VerificationReport.
type Verification struct {
	Report      Report
	Limits      ReadLimits
	Collections []ReadCollection // one page of each section of each
	Points      []RecordName     // that the baseline named, and that are to be read; none for a baseline
	Of          int              // so many collections does the migration cover
	Expected    Runtime          // that the plan names, and that was found
	Token       tenancy.AccessToken
}

// ReadLimits bound the reading of one phase.
type ReadLimits struct {
	PageRecords   int           // sections of a page of the export, 1 to 32
	Points        int           // reads of one record: 128
	Attempts      int           // of one request: 3
	Request       time.Duration // 30 s for each attempt
	Phase         time.Duration // 10 minutes for all
	ResponseBytes int64         // 16 MiB
}

// ReadCollection is a collection that is read.
type ReadCollection struct {
	Name     string   `json:"collection"`
	Sections []string `json:"sections"`
}

// RecordName names a record.
type RecordName struct {
	Collection string `json:"collection"`
	Key        string `json:"key"`
}

// How a read went.
const (
	ReadSeen        = "read"        // every body has the length and the digest that was said
	ReadAbsent      = "absent"      // the record, or the collection, isn't there
	ReadUnavailable = "unavailable" // a body can't be had
	ReadWrong       = "wrong"       // a body came that isn't its digest's
	ReadUnanswered  = "unanswered"  // within the limits
)

// VerificationReport is what a reader saw. The server judges it.
type VerificationReport struct {
	StartedAt time.Time   `json:"started_at"`
	EndedAt   time.Time   `json:"ended_at"`
	Requests  int         `json:"requests"` // attempts, all told
	Bodies    int         `json:"bodies"`   // that were hashed
	Bytes     int64       `json:"bytes"`    // of these
	Limits    []string    `json:"limits"`   // that were reached: of Limit…
	Pages     []PageRead  `json:"pages"`
	Points    []PointRead `json:"points"`
}

// The limits that a reader reaches.
const (
	LimitPhase    = "phase"    // the time for all
	LimitAttempts = "attempts" // a request had no answer in the last of its attempts
	LimitResponse = "response" // an answer was larger
)

// PageRead is one page of a section's export.
type PageRead struct {
	Collection string        `json:"collection"`
	Section    string        `json:"section"`
	Outcome    string        `json:"outcome"` // of Read…
	More       bool          `json:"more"`    // than this page has
	Sections   []PageSection `json:"sections"`
}

// SectionRead is a section as it was seen.
type SectionRead struct {
	Sequence int64          `json:"export_sequence"` // of its last change
	Live     bool           `json:"live"`
	Digest   *record.Digest `json:"digest,omitempty"` // of a live one
	Length   int64          `json:"length"`           // bytes
}

// PageSection is a section as a page showed it.
type PageSection struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"` // of the record
	SectionRead
}

// PointRead is one record, read by its key.
type PointRead struct {
	Collection string         `json:"collection"`
	Key        string         `json:"key"`
	Outcome    string         `json:"outcome"` // of Read…
	Revision   int64          `json:"revision"`
	Sections   []PointSection `json:"sections"`
}

// PointSection is a section as a record showed it.
type PointSection struct {
	Section string `json:"section"`
	SectionRead
}

// What a report comes to.
const (
	VerdictPassed     = "passed"
	VerdictFailed     = "failed"     // what was seen can't be so: a recheck stops the migration
	VerdictIncomplete = "incomplete" // not all could be read: nothing changes, and it may be done again
)

// Verdict is what the server makes of a report. It is about what was covered: a
// sample proves nothing of the rest.
type Verdict struct {
	Outcome  string    `json:"outcome"`
	Findings []Finding `json:"findings"` // the first 100 of what is wrong
	Wrong    int       `json:"wrong"`    // all of them
	Missing  []Finding `json:"missing"`  // the first 100 of what keeps it from being complete
	Newer    []Finding `json:"newer"`    // the first 100 that were published since the baseline
	Coverage Coverage  `json:"coverage"`
	State    State     `json:"state"` // of the migration, behind it
	Limits   []string  `json:"limits"`
}

// Finding is one section or record, and what is so of it.
type Finding struct {
	Reason     string         `json:"reason"`
	Collection string         `json:"collection,omitempty"`
	Key        string         `json:"key,omitempty"`
	Section    string         `json:"section,omitempty"`
	Was        *record.Digest `json:"was,omitempty"` // of the baseline
	Is         *record.Digest `json:"is,omitempty"`
	Revision   int64          `json:"revision,omitempty"`
}

// Coverage says how much was read, of how much.
type Coverage struct {
	Collections   int   `json:"collections"`    // of which anything was read
	OfCollections int   `json:"of_collections"` // that the migration covers
	Pages         int   `json:"pages"`
	OfPages       int   `json:"of_pages"` // that were to be read
	Points        int   `json:"points"`
	Records       int   `json:"records"` // different ones
	Bodies        int   `json:"bodies"`
	Bytes         int64 `json:"bytes"`
	Compared      int   `json:"compared"`   // sections that the baseline had too
	Newer         int   `json:"newer"`      // of these, that were published since
	Tombstones    int   `json:"tombstones"` // of these, that were deleted since
}
