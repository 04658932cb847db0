package migration

import "time"

// Progress is where a migration stands. Counters are of what was committed; what
// is left is counted in the tables.
type Progress struct {
	At          time.Time // of the control database
	Total       Counters
	Left        Left
	Deferred    int64                // sections
	Pace5       *Pace                // of the last 5 minutes; nil when there is too little to tell
	Pace60      *Pace                // of the last 60
	Remaining   *time.Duration       // by the pace; nil when nobody can tell
	Collections []CollectionProgress // that have accepted the plan, by name
	Awaited     []string             // names of covered collections that haven't, while they are activated
	Run         *Run                 // the open one
	Reasons     []Reason             // why it is slow or doesn't go on; none when it isn't so
	Next        NextAction           // that nobody has to ask for
	PausedBy    string               // "" unless it is paused
}

// Left is what stands in the former format.
type Left struct {
	Records  int64
	Sections int64
	// Whole is false where a collection has so much that it wasn't counted to the
	// end: there is at least as much.
	Whole bool
}

func (l *Left) add(other Left) {
	l.Records += other.Records
	l.Sections += other.Sections
	l.Whole = l.Whole && other.Whole
}

// CollectionProgress is a line of the progress: one collection's.
type CollectionProgress struct {
	Checkpoint
	Left     Left
	Deferred int64 // sections

	passedOver int64 // records that no pass tries, until a retry is asked for
}

// Pace is how fast records were moved.
type Pace struct {
	Records float64 // a second
	Bytes   float64 // of bodies, a second
}

// remaining is how long so much takes at a pace.
func (p *Progress) remaining() *time.Duration {
	recent := p.Pace5
	switch {
	case !p.Left.Whole || p.Run == nil:
		return nil
	case p.Left.Records == 0:
		recent = &Pace{Records: 1}
	case recent == nil || recent.Records == 0:
		recent = p.Pace60
	}
	if recent == nil || recent.Records == 0 {
		return nil
	}
	takes := time.Duration(float64(p.Left.Records) / recent.Records * float64(time.Second)).Round(time.Second)
	return &takes
}
