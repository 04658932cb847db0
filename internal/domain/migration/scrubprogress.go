package migration

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// ScrubBudget bounds a scrub.
type ScrubBudget struct {
	Bodies   int64         `json:"bodies"`      // 0 for no bound
	Bytes    int64         `json:"bytes"`       // of these; 0 for no bound
	Duration time.Duration `json:"nanoseconds"` // 24 hours if 0, 30 days at most
}

// Why a scrub has ended before it came to the end.
const (
	SpentBodies = "bodies"
	SpentBytes  = "bytes"
	SpentTime   = "time"
)

// ScrubProgress is how far a scrub is, and what it has found. It is kept with each
// page.
type ScrubProgress struct {
	// Where it is: everything up to this section was looked at.
	Collection string `json:"collection"`
	Key        string `json:"key"`
	Section    string `json:"section"`

	Counted  bool  `json:"counted"`   // the totals are known
	OfBodies int64 `json:"of_bodies"` // in the store when it was counted
	OfBytes  int64 `json:"of_bytes"`  // likewise
	Sections int64 `json:"sections"`  // looked at, tombstones too
	Bodies   int64 `json:"bodies"`    // read, whole
	Bytes    int64 `json:"bytes"`     // of these

	Corrupt        int64          `json:"corrupt"`         // other bytes stand where a body belongs
	Missing        int64          `json:"missing"`         // nothing stands there
	Unreachable    int64          `json:"unreachable"`     // the store didn't say
	Changed        int64          `json:"changed"`         // published anew or moved, while they were read
	FirstWrong     []ScrubFinding `json:"first_wrong"`     // the first 100 corrupt or missing
	FirstUnreached []ScrubFinding `json:"first_unreached"` // the first 100 unreachable

	Covered bool   `json:"covered"` // it came to the end
	Spent   string `json:"spent"`   // what ended it before: of Spent…
	Stopped bool   `json:"stopped"` // it has stopped the migration

	Budget    ScrubBudget      `json:"budget"`
	OwnBodies int64            `json:"own_bodies"` // of the budget
	OwnBytes  int64            `json:"own_bytes"`
	Continues *domain.ReportID `json:"continues,omitempty"` // the scrub whose budget was spent, behind which this goes on

	Step int64 `json:"step"` // grows by one each time it is kept: of two workers one keeps a page
}

// ScrubFinding is a body that a scrub could not confirm.
type ScrubFinding struct {
	Reason     string        `json:"reason"` // corrupt, missing, unreachable
	Collection string        `json:"collection"`
	Key        string        `json:"key"`
	Section    string        `json:"section"`
	Digest     record.Digest `json:"digest"`
	Length     int64         `json:"length"`
}
