package identity

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// polls polls at these times, in seconds from the first, and tells which of them
// were early, and the interval after each.
func polls(at ...float64) (early []bool, intervals []time.Duration) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	p := pace{interval: PollInterval}
	for _, seconds := range at {
		var e bool
		p, e = p.poll(began.Add(time.Duration(seconds * float64(time.Second))))
		early, intervals = append(early, e), append(intervals, p.interval)
	}
	return early, intervals
}

func TestPace(t *testing.T) {
	t.Parallel()
	const no, early = false, true
	tests := []struct {
		name      string
		at        []float64
		early     []bool
		intervals []int // seconds
	}{
		{"the first poll may come at once", []float64{0}, []bool{no}, []int{5}},
		{"five seconds apart", []float64{0, 5, 10, 15}, []bool{no, no, no, no}, []int{5, 5, 5, 5}},
		{"a second too soon at each turn", []float64{0, 4, 8, 12}, []bool{no, no, no, no}, []int{5, 5, 5, 5}},
		{"a little sooner than that", []float64{0, 3.999}, []bool{no, early}, []int{5, 10}},
		{"one early poll, then as it was first told", []float64{0, 1, 6, 11, 16, 21, 26, 31},
			[]bool{no, early, early, no, early, no, early, no}, []int{5, 10, 10, 10, 10, 10, 10, 10}},
		{"one early poll, then as it was told", []float64{0, 1, 11, 21, 31}, []bool{no, early, no, no, no}, []int{5, 10, 10, 10, 10}},
		{"for good, after however long a rest", []float64{0, 1, 500, 505, 509}, []bool{no, early, no, early, no}, []int{5, 10, 10, 10, 10}},
		{"hammering", []float64{0, 1, 2, 3, 4, 5, 6}, []bool{no, early, early, early, early, early, early}, []int{5, 10, 15, 20, 25, 30, 35}},
		{"hammering, then as it was told", []float64{0, 1, 2, 3, 23, 43}, []bool{no, early, early, early, no, no}, []int{5, 10, 15, 20, 20, 20}},
		{"a clock that was put back", []float64{10, 3, 14, 19}, []bool{no, early, early, no}, []int{5, 10, 10, 10}},
	}
	for _, test := range tests {
		gotEarly, gotIntervals := polls(test.at...)
		for i := range test.at {
			if gotEarly[i] != test.early[i] || gotIntervals[i] != time.Duration(test.intervals[i])*time.Second {
				t.Errorf("%s: poll %d at %v s is early: %v, interval %v; want %v, %d s",
					test.name, i+1, test.at[i], gotEarly[i], gotIntervals[i], test.early[i], test.intervals[i])
			}
		}
	}
}

// One early poll, then 45 more at five seconds with jitter: no two of them in a
// row are told to slow down, once the first has been.
func TestPace_OneEarlyPollThenJitter_Recovers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := []float64{0, rapid.Float64Range(0, 3.9).Draw(t, "early")}
		for i := range 45 {
			at = append(at, at[len(at)-1]+5+rapid.Float64Range(-0.5, 0.5).Draw(t, fmt.Sprint("jitter ", i)))
		}
		early, intervals := polls(at...)
		var pending int
		for i := 2; i < len(early); i++ {
			if !early[i] {
				pending++
			} else if i > 2 && early[i-1] && early[i-2] {
				t.Errorf("polls %d to %d are all told to slow down", i-1, i+1)
			}
		}
		if pending < 15 {
			t.Errorf("only %d of 45 polls are not told to slow down", pending)
		}
		if last := intervals[len(intervals)-1]; last != 10*time.Second {
			t.Errorf("the interval ends at %v, want the one step of the one early poll", last)
		}
	})
}

// However a device polls: its interval only grows, by steps, up to a minute; and
// a poll that keeps the interval, after however much hammering, is not early.
func TestPace_OnlyGrows_AndEveryDeviceMayRecover(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := []float64{0}
		for i := range rapid.IntRange(1, 60).Draw(t, "polls") {
			at = append(at, at[len(at)-1]+rapid.Float64Range(0, 12).Draw(t, fmt.Sprint("gap ", i)))
		}
		_, intervals := polls(at...)
		for i := 1; i < len(intervals); i++ {
			grown := intervals[i] - intervals[i-1]
			if grown != 0 && grown != paceStep || intervals[i] > time.Minute {
				t.Errorf("poll %d: the interval goes from %v to %v", i+1, intervals[i-1], intervals[i])
			}
		}
		patient := at[len(at)-1] + intervals[len(intervals)-1].Seconds()
		if early, _ := polls(append(at, patient)...); early[len(early)-1] {
			t.Error("a poll that kept the interval is told to slow down")
		}
	})
}
