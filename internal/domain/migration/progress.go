package migration

import "time"

// Progress is where a migration stands. Counters are of what was committed; what
// is left is counted in the tables.
type Progress struct {
	At          time.Time
	Total       Counters
	Left        Left
	Deferred    int64                // sections
	Pace5       *Pace                // of the last 5 minutes; nil when there is too little to tell
	Pace60      *Pace                // of the last 60
	Remaining   time.Duration        // by the pace; -1 when nobody can tell
	Collections []CollectionProgress // that have accepted the plan, by name
	Awaited     []string             // names of covered collections that haven't
	Reasons     []Reason             // why it is slow or held; none when it isn't
	Next        NextAction           // that nobody has to ask for
	PausedBy    string               // "" unless it is paused
}

// Left is what stands in the former format.
type Left struct {
	Records  int64
	Sections int64
	// Whole is false where there is so much that it wasn't counted to the end: there
	// is at least as much.
	Whole bool
}

// CollectionProgress is a line of the progress: one collection's.
type CollectionProgress struct {
	Checkpoint
	Left     Left
	Deferred int64
}

// Pace is how fast records were moved.
type Pace struct {
	Records float64 // a second
	Bytes   float64 // of bodies, a second
}

// Reason says why a migration is slow, or doesn't go on. The list is closed.
type Reason struct {
	Code   ReasonCode
	Detail string // the category of a stop, who paused it, which caps; "" where the code says all
}

// ReasonCode is the machine's word for a Reason.
type ReasonCode string

const (
	ReasonNotActivated ReasonCode = "not_activated"  // no collection is moved before that
	ReasonPaused       ReasonCode = "paused"         // Detail is by whom
	ReasonStopped      ReasonCode = "stopped"        // Detail is the category
	ReasonBuild        ReasonCode = "build_changing" // a change of the build is to be approved, or applied
	ReasonHeld         ReasonCode = "held"           // checkpoints are, though the migration isn't; Detail is how many
	ReasonNoRun        ReasonCode = "no_run"         // none is open
	ReasonNoWorker     ReasonCode = "no_worker"      // the open run isn't worked on: no worker of its build?
	ReasonCaps         ReasonCode = "caps_lowered"   // below the plan's; Detail is which
	ReasonSlower       ReasonCode = "slower"         // the last 5 minutes' pace is below half of the last hour's
	ReasonDeferred     ReasonCode = "deferred"       // sections wait for a review; Detail is how many
)

// NextAction is what happens next without anybody's asking. The list is closed.
type NextAction string

const (
	NextNothing  NextAction = "none"      // until an operator acts
	NextPasses   NextAction = "passes"    // the open run goes on
	NextHandOver NextAction = "hand_over" // a worker takes the run up again
	NextHold     NextAction = "hold"      // the pass that is under way ends, and no other begins
	NextDrained  NextAction = "drained"   // the run finds nothing left, and says so
	NextReview   NextAction = "stop"      // the run ends its sweep and stops for a review
)
