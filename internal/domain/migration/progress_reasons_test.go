package migration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress_SaysWhyItIsSlowOrHeld_AndWhatComesNext(t *testing.T) {
	now := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	caps, lowered := DefaultCaps, DefaultCaps
	lowered.Records, lowered.InFlight = 1, 2
	started := func(before time.Duration) *Run { return &Run{Build: "build-1", StartedAt: now.Add(-before)} }
	some := Left{Records: 5, Sections: 9, Whole: true}
	held := []CollectionProgress{{Checkpoint: Checkpoint{Held: true}}, {}}
	for name, c := range map[string]struct {
		m    Migration
		p    Progress
		want []Reason
		next NextAction
	}{
		"asked for":   {Migration{State: Requested}, Progress{}, []Reason{{ReasonNotActivated, ""}}, NextNothing},
		"approved":    {Migration{State: Approved}, Progress{}, []Reason{{ReasonNotActivated, ""}}, NextNothing},
		"activating":  {Migration{State: Activating}, Progress{Awaited: []string{"a", "b"}}, []Reason{{ReasonActivating, "2"}}, NextNothing},
		"paused":      {Migration{State: Paused, HeldBy: "ada"}, Progress{Left: some}, []Reason{{ReasonPaused, "ada"}}, NextNothing},
		"idle":        {Migration{State: Active}, Progress{Left: some}, []Reason{{ReasonNoRun, ""}}, NextNothing},
		"under way":   {Migration{State: Active}, Progress{Left: some, Run: started(time.Minute)}, nil, NextPasses},
		"at its end":  {Migration{State: Active}, Progress{Left: Left{Whole: true}, Run: started(time.Minute)}, nil, NextDrained},
		"drained":     {Migration{State: Drained}, Progress{}, nil, NextNothing},
		"closed":      {Migration{State: Closed}, Progress{}, nil, NextNothing},
		"still held":  {Migration{State: Active}, Progress{Left: some, Run: started(0), Collections: held}, []Reason{{ReasonHeld, "1"}}, NextPasses},
		"lowered":     {Migration{State: Active, Caps: &lowered}, Progress{Left: some, Run: started(0)}, []Reason{{ReasonCaps, "1 of 4 records, 2 of 4 bodies in flight"}}, NextPasses},
		"no worker":   {Migration{State: Active}, Progress{Left: some, Run: started(unworked + 1)}, []Reason{{ReasonNoWorker, "build-1"}}, NextHandOver},
		"noted since": {Migration{State: Active}, Progress{Left: some, Run: &Run{StartedAt: now.Add(-time.Hour), WorkedAt: now.Add(-unworked)}}, nil, NextPasses},
		"slower": {
			Migration{State: Active}, Progress{Left: some, Run: started(0), Pace5: &Pace{Records: 4.9}, Pace60: &Pace{Records: 10}},
			[]Reason{{ReasonSlower, ""}}, NextPasses,
		},
		"half as fast": {Migration{State: Active}, Progress{Left: some, Run: started(0), Pace5: &Pace{Records: 5}, Pace60: &Pace{Records: 10}}, nil, NextPasses},
		"stopped": {
			Migration{State: Stopped, Stop: &Stop{Category: SourceDefect}, Envelope: Hash{1}}, Progress{Left: some, Deferred: 3},
			[]Reason{{ReasonStopped, SourceDefect}, {ReasonBuild, ""}, {ReasonDeferred, "3"}}, NextNothing,
		},
		"only deferred ones left": {
			Migration{State: Active},
			Progress{Left: Left{2, 4, true}, Deferred: 3, Run: started(0), Collections: []CollectionProgress{{passedOver: 1}, {passedOver: 1}}},
			[]Reason{{ReasonDeferred, "3"}}, NextReview,
		},
		"one of them to be tried again": {
			Migration{State: Active},
			Progress{Left: Left{2, 4, true}, Deferred: 3, Run: started(0), Collections: []CollectionProgress{{passedOver: 1}, {}}},
			[]Reason{{ReasonDeferred, "3"}}, NextPasses,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.p.At = now
			if c.m.Caps == nil {
				c.m.Caps = &caps
			}
			if diff := cmp.Diff(c.want, c.p.reasons(&c.m, &caps)); diff != "" {
				t.Errorf("the reasons (-want +got)\n%s", diff)
			}
			if got := c.p.next(&c.m); got != c.next {
				t.Errorf("next is %q, want %q", got, c.next)
			}
			for _, r := range c.want {
				if r.Text() == "" {
					t.Errorf("%q has no words", r.Code)
				}
			}
			if c.next.Text() == "" {
				t.Errorf("%q has no words", c.next)
			}
		})
	}
}

func TestProgress_TellsHowLongItTakes_OnlyWhenSomebodyCanTell(t *testing.T) {
	seconds := func(n int) *time.Duration { d := time.Duration(n) * time.Second; return &d }
	run := &Run{}
	left := Left{Records: 100, Sections: 200, Whole: true}
	for name, c := range map[string]struct {
		p    Progress
		want *time.Duration
	}{
		"by the last minutes":       {Progress{Left: left, Run: run, Pace5: &Pace{Records: 10}, Pace60: &Pace{Records: 50}}, seconds(10)},
		"by the hour, if they rest": {Progress{Left: left, Run: run, Pace5: &Pace{}, Pace60: &Pace{Records: 50}}, seconds(2)},
		"nothing is left":           {Progress{Left: Left{Whole: true}, Run: run}, seconds(0)},
		"nobody is at it":           {Progress{Left: left, Pace5: &Pace{Records: 10}}, nil},
		"nothing moved":             {Progress{Left: left, Run: run, Pace5: &Pace{}, Pace60: &Pace{}}, nil},
		"nothing is known":          {Progress{Left: left, Run: run}, nil},
		"there is more":             {Progress{Left: Left{Records: 100}, Run: run, Pace5: &Pace{Records: 10}}, nil},
	} {
		if diff := cmp.Diff(c.want, c.p.remaining()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
