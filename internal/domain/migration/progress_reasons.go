package migration

import (
	"fmt"
	"time"
)

// Reason says why a migration is slow, or doesn't go on. The list is closed.
type Reason struct {
	Code   ReasonCode
	Detail string // who paused it, the category of a stop, how many; "" where the code says all
}

// ReasonCode is the machine's word for a Reason.
type ReasonCode string

const (
	ReasonNotActivated ReasonCode = "not_activated"
	ReasonActivating   ReasonCode = "activating" // Detail is how many collections haven't accepted the plan
	ReasonPaused       ReasonCode = "paused"     // Detail is by whom
	ReasonStopped      ReasonCode = "stopped"    // Detail is the category
	ReasonBuild        ReasonCode = "build_changing"
	ReasonHeld         ReasonCode = "held" // Detail is how many collections are
	ReasonNoRun        ReasonCode = "no_run"
	ReasonNoWorker     ReasonCode = "no_worker"    // Detail is the build whose worker is missed
	ReasonCaps         ReasonCode = "caps_lowered" // Detail is which
	ReasonSlower       ReasonCode = "slower"
	ReasonDeferred     ReasonCode = "deferred" // Detail is how many sections are
)

var reasonTexts = map[ReasonCode]string{
	ReasonNotActivated: "No collection is moved before the migration is activated.",
	ReasonActivating:   "Some collections haven't accepted the plan yet. Activate again.",
	ReasonPaused:       "The migration is paused.",
	ReasonStopped:      "The migration is stopped for a review.",
	ReasonBuild:        "The migration is being carried over to another build. Finish that.",
	ReasonHeld:         "Some collections are still held, though the migration is active. The next run lets go of them.",
	ReasonNoRun:        "No run is open. One has to be asked for.",
	ReasonNoWorker:     "No worker has noted any work on the open run for two minutes. Is there a worker of its build?",
	ReasonCaps:         "The caps are lower than the plan's.",
	ReasonSlower:       "The last five minutes were less than half as fast as the last hour.",
	ReasonDeferred:     "Some sections aren't what their rows say, and wait for a review.",
}

// Text says it in plain words.
func (r Reason) Text() string { return reasonTexts[r.Code] }

// NextAction is what happens next without anybody's asking. The list is closed.
type NextAction string

const (
	NextNothing  NextAction = "none"
	NextPasses   NextAction = "passes"
	NextHandOver NextAction = "hand_over"
	NextDrained  NextAction = "drained"
	NextReview   NextAction = "review"
)

var nextTexts = map[NextAction]string{
	NextNothing:  "Nothing happens until somebody asks for it.",
	NextPasses:   "The open run makes further passes, until nothing is left or one of its bounds is reached.",
	NextHandOver: "A worker of the run's build takes it up again, as soon as there is one.",
	NextDrained:  "The open run finds nothing left in the former format, and calls the migration drained.",
	NextReview:   "The open run ends its sweep, and stops the migration for a review of what was deferred.",
}

// Text says it in plain words.
func (n NextAction) Text() string { return nextTexts[n] }

// unworked is how long a run may go without a worker's noting how far it is. One at
// work does so at the end of each shift, which is about a minute long, and one that
// was killed is replaced within two.
const unworked = 2 * time.Minute

// abandoned tells that nobody is at the open run.
func (p *Progress) abandoned() bool {
	worked := p.Run.StartedAt
	if p.Run.WorkedAt.After(worked) {
		worked = p.Run.WorkedAt
	}
	return p.At.Sub(worked) > unworked
}

// reasons are why a migration is slow or doesn't go on, by what was read. plan are
// the caps that were approved.
func (p *Progress) reasons(m *Migration, plan *Caps) (all []Reason) {
	because := func(code ReasonCode, detail string) { all = append(all, Reason{code, detail}) }
	switch m.State {
	case Requested, Previewed, Approved:
		because(ReasonNotActivated, "")
		return all
	case Drained, Verified, Closed, Aborted:
		return nil
	case Activating:
		because(ReasonActivating, fmt.Sprint(len(p.Awaited)))
	case Paused:
		because(ReasonPaused, m.HeldBy)
	case Stopped:
		because(ReasonStopped, m.Stop.Category)
	}
	if m.Envelope != (Hash{}) {
		because(ReasonBuild, "")
	}
	if p.Deferred > 0 {
		because(ReasonDeferred, fmt.Sprint(p.Deferred))
	}
	if m.State != Active {
		return all
	}
	if held := p.held(); held > 0 {
		because(ReasonHeld, fmt.Sprint(held))
	}
	switch {
	case p.Run == nil:
		because(ReasonNoRun, "")
	case p.abandoned():
		because(ReasonNoWorker, p.Run.Build)
	case p.Pace5 != nil && p.Pace60 != nil && p.Pace5.Records < p.Pace60.Records/2:
		because(ReasonSlower, "")
	}
	if lowered := m.Caps.below(plan); lowered != "" {
		because(ReasonCaps, lowered)
	}
	return all
}

// held is how many of the collections are.
func (p *Progress) held() (n int) {
	for i := range p.Collections {
		if p.Collections[i].Held {
			n++
		}
	}
	return n
}

// next is what happens next by itself.
func (p *Progress) next(m *Migration) NextAction {
	passedOver := int64(0)
	for i := range p.Collections {
		passedOver += p.Collections[i].passedOver
	}
	switch {
	case m.State != Active || p.Run == nil:
		return NextNothing
	case p.abandoned():
		return NextHandOver
	case p.Left.Sections == 0:
		return NextDrained
	case p.Left.Whole && p.Left.Records <= passedOver:
		return NextReview
	}
	return NextPasses
}

// below says which of the caps are lower than another's.
func (c *Caps) below(plan *Caps) (which string) {
	if c == nil || plan == nil {
		return ""
	}
	for _, lowered := range []struct {
		name    string
		is, was int64
	}{
		{"inspected rows", int64(c.Inspected), int64(plan.Inspected)},
		{"records", int64(c.Records), int64(plan.Records)},
		{"bytes", c.Bytes, plan.Bytes},
		{"bodies in flight", int64(c.InFlight), int64(plan.InFlight)},
	} {
		if lowered.is >= lowered.was {
			continue
		}
		if which != "" {
			which += ", "
		}
		which += fmt.Sprintf("%d of %d %s", lowered.is, lowered.was, lowered.name)
	}
	return which
}
