package fleet_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func TestOpen_ComparesAndOpensWhereTheNumbersHaveGone(t *testing.T) {
	t.Parallel()
	s := prepared(t, true)
	compared, err := fleet.Open(t.Context(), s.later, going)
	if err != nil || len(compared) != 1 || compared[0].Rows != 81 || len(compared[0].Differences) > 0 {
		t.Fatalf("%+v, %v", compared, err)
	}
	s.expectStates(t, "data1", "3 copy", "4 copy")
	s.expectStates(t, "data2", "3 open", "4 open")
	if n := s.count(t, "data2", "pg_class c", `c.oid IN (SELECT moving_tables()) AND NOT c.relforcerowsecurity`); n > 0 {
		t.Errorf("%d tables don't force row-level security", n)
	}
	if err := postgres.CheckPlacement(t.Context(), s.later); err != nil {
		t.Error(err)
	}
	if again, err := fleet.Open(t.Context(), s.later, going); err != nil || len(again) > 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestOpen_RefusesACopyThatDiffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want fleet.Difference // without digests
	}{
		"a row is missing": {`DELETE FROM event_counters WHERE number = 3`,
			fleet.Difference{Table: "event_counters", Number: 3, From: fleet.Contents{Rows: 1}}},
		"a row is another": {`UPDATE entry_ids SET position = 41 WHERE number = 4 AND position = 40`,
			fleet.Difference{Table: "entry_ids", Number: 4, From: fleet.Contents{Rows: 40}, To: fleet.Contents{Rows: 40}}},
		"a row more": {`INSERT INTO event_counters VALUES (gen_random_uuid(), 4, 1)`,
			fleet.Difference{Table: "event_counters", Number: 4, To: fleet.Contents{Rows: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prepared(t, true)
			s.exec(t, "data2", c.sql)
			_, err := fleet.Open(t.Context(), s.later, going)
			var different fleet.DifferentError
			if !errors.As(err, &different) || len(different.Differences) != 1 {
				t.Fatalf("it says %v", err)
			}
			got := different.Differences[0]
			if got.From.Digest == got.To.Digest {
				t.Error("the digests are the same")
			}
			got.From.Digest, got.To.Digest = "", ""
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("difference (-want +got):\n%s", diff)
			}
			s.expectStates(t, "data1", "3 closed", "4 closed")
			s.expectStates(t, "data2", "3 copy", "4 copy")
		})
	}
}

func TestOpen_CallsAMoveOff(t *testing.T) {
	t.Parallel()
	s := prepared(t, false)
	s.copy(t, "entry_ids")
	if _, err := fleet.Open(t.Context(), s.now, going); err != nil {
		t.Fatal(err)
	}
	s.expectStates(t, "data1", "3 open", "4 open")
	if err := fleet.Clean(t.Context(), s.now, s.now.Named("data2"), going, silent); err != nil {
		t.Fatal(err)
	}
	s.expectStates(t, "data2")
	if n := s.count(t, "data2", "entry_ids", "true") + s.count(t, "data2", "pg_class c", `c.oid IN (SELECT moving_tables()) AND NOT c.relforcerowsecurity`); n > 0 {
		t.Errorf("%d rows or unforced tables are left", n)
	}
	if err := fleet.Prepare(t.Context(), s.now, s.move(t)); err != nil {
		t.Errorf("another try: %v", err)
	}
}

// A crash between the two changes of who counts leaves two copies, that are the same.
func TestOpen_GoesOnWhereACrashHasLeftIt(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*site) *postgres.Router{
		"forward": func(s *site) *postgres.Router { return s.later },
		"back":    func(s *site) *postgres.Router { return s.now },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prepared(t, true)
			s.exec(t, "data1", `UPDATE number_gates SET state = 'copy' WHERE number IN (3, 4)`)
			if err := postgres.ReopenNumbers(t.Context(), open(s), going); err == nil {
				t.Error("a copy was opened without a look at it")
			}
			if compared, err := fleet.Open(t.Context(), open(s), going); err != nil || len(compared) != 1 {
				t.Fatalf("%+v, %v", compared, err)
			}
			if err := postgres.CheckPlacement(t.Context(), open(s)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOpen_NeverAgainWhereSomethingIsMissingByNow(t *testing.T) {
	t.Parallel()
	s := prepared(t, true)
	if _, err := fleet.Open(t.Context(), s.later, going); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "data2", `UPDATE event_counters SET last = 2 WHERE number = 3`) // what a caller was told
	s.close(t, "data2")
	var different fleet.DifferentError
	if _, err := fleet.Open(t.Context(), s.now, going); !errors.As(err, &different) {
		t.Errorf("it says %v", err)
	}
	s.expectStates(t, "data1", "3 copy", "4 copy")
}

func TestOpen_RefusesACopyOfNothing(t *testing.T) {
	t.Parallel()
	s := prepared(t, true)
	s.exec(t, "data1", `DELETE FROM number_gates WHERE number = 4`)
	var refused fleet.RefusedError
	if _, err := fleet.Open(t.Context(), s.later, going); !errors.As(err, &refused) {
		t.Errorf("it says %v", err)
	}
	s.expectStates(t, "data2", "3 copy", "4 copy")
}
