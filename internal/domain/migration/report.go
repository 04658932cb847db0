package migration

import (
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// ReportKind is what a report is about.
type ReportKind string

const (
	BaselineReport ReportKind = "baseline" // what readers saw before the activation
	RecheckReport  ReportKind = "recheck"  // what they see before the migration is closed
	ScrubReport    ReportKind = "scrub"    // every body in the store, read
)

// Report is a baseline, a recheck or a scrub: identities, revisions, digests,
// lengths and counts, never contents.
type Report struct {
	ID        domain.ReportID
	Tenant    domain.TenantID
	Migration domain.MigrationID
	Kind      ReportKind
	PlanHash  Hash
	Build     string
	Actor     Actor // who began it
	StartedAt time.Time
	Deadline  time.Time
	EndedAt   time.Time // zero while it goes on
	Passed    bool      // false while it goes on

	// Of a baseline or a recheck that has ended.
	Verdict  *Verdict
	Observed *VerificationReport

	// Of a scrub, also while it goes on.
	Scrub *ScrubProgress

	progress json.RawMessage
	report   json.RawMessage
}
