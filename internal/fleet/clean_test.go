package fleet_test

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/fleet"
)

func TestClean_RemovesWhatHasMovedAndNothingElse(t *testing.T) {
	t.Parallel()
	s := prepared(t, true)
	if _, err := fleet.Open(t.Context(), s.later, going); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{81, 0} { // and again
		removed := int64(0)
		if err := fleet.Clean(t.Context(), s.later, s.later.Named("data1"), going, func(_ string, rows int64) { removed += rows }); err != nil || removed != want {
			t.Errorf("%d rows were removed, %v; want %d", removed, err, want)
		}
	}
	s.expectStates(t, "data1")
	for table, want := range map[string]int{"entry_ids": 40, "event_counters": 1, "sweeps": 1} {
		if all, other := s.count(t, "data1", table, "true"), s.count(t, "data1", table, "number = 5"); all != want || other != want {
			t.Errorf("%s has %d rows, %d of them of number 5; want %d", table, all, other, want)
		}
	}
	if n := s.count(t, "data1", "pg_publication", "true"); n > 0 {
		t.Error("something is still published")
	}
	if n := s.count(t, "data2", "entry_ids", "true"); n != 80 {
		t.Errorf("where they are, %d rows are left of 80", n)
	}
}

func TestClean_RefusesWhatMayBeAllThereIs(t *testing.T) {
	t.Parallel()
	s := prepared(t, true)
	for name, try := range map[string]func() error{
		"the database that counts":  func() error { return fleet.Clean(t.Context(), s.now, s.now.Named("data1"), going, silent) },
		"before it is open":         func() error { return fleet.Clean(t.Context(), s.later, s.later.Named("data1"), going, silent) },
		"where it is placed":        func() error { return fleet.Clean(t.Context(), s.later, s.later.Named("data2"), going, silent) },
		"of another that is closed": func() error { return fleet.Clean(t.Context(), s.now, s.now.Named("data2"), going, silent) },
	} {
		var refused fleet.RefusedError
		if err := try(); !errors.As(err, &refused) {
			t.Errorf("%s: it says %v", name, err)
		}
	}
	if n := s.count(t, "data1", "entry_ids", "true") + s.count(t, "data2", "entry_ids", "true"); n != 200 {
		t.Errorf("%d rows are left of 200", n)
	}
}
