package fleet_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func TestPrepare_ClosesNothingAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.exec(t, "data1", `UPDATE number_gates SET record_format = 2 WHERE number = 4`)
	for range 2 {
		if err := fleet.Prepare(t.Context(), s.now, s.move(t)); err != nil {
			t.Fatal(err)
		}
	}
	s.expectStates(t, "data1", "3 open", "4 open")
	s.expectStates(t, "data2", "3 copy", "4 copy")
	if n := s.count(t, "data2", "number_gates", `number = 4 AND record_format = 2`); n != 1 {
		t.Error("the copy's gate doesn't demand what the number's does")
	}
	for _, router := range []*postgres.Router{s.now, s.later} {
		if err := postgres.CheckPlacement(t.Context(), router); (err == nil) != (router == s.now) {
			t.Errorf("while the numbers are open on data1, a process with them on data2 there: %v, is told %v", router == s.later, err)
		}
	}
	s.close(t, "data1")
	for _, router := range []*postgres.Router{s.now, s.later} {
		if err := postgres.CheckPlacement(t.Context(), router); err != nil {
			t.Errorf("once they are closed, a process can't start: %v", err)
		}
	}
}

func TestPrepare_RefusesWhatWouldStandInTheWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ database, sql, says string }{
		"a number that isn't there": {"data1", `DELETE FROM number_gates WHERE number = 4`, "number 4 is not known on data1"},
		"a copy":                    {"data1", `UPDATE number_gates SET state = 'copy' WHERE number = 4`, "number 4 is copy on data1"},
		"open on the target":        {"data2", `INSERT INTO number_gates VALUES (3, 'open', 1, 1)`, "number 3 is open on data2"},
		"rows of a former time": {"data2", `INSERT INTO event_counters VALUES (gen_random_uuid(), 4, 1)`,
			"event_counters has rows of the numbers already: run holdfast fleet clean 3-4 --on data2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.exec(t, c.database, c.sql)
			var refused fleet.RefusedError
			err := fleet.Prepare(t.Context(), s.now, s.move(t))
			if err == nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, want %q", err, c.says)
			}
			if n := s.count(t, "data1", "pg_publication", "true"); n > 0 {
				t.Error("something is published")
			}
		})
	}
}

func TestPrepare_OneMoveAtATimeFromADatabase(t *testing.T) {
	t.Parallel()
	s := prepared(t, false)
	other, err := fleet.NewMove(s.now, []domain.Number{5}, "data1", "data2")
	if err != nil {
		t.Fatal(err)
	}
	var refused fleet.RefusedError
	const says = "a move from data1 is under way: it publishes the numbers 3-4 to data2"
	if err := fleet.Prepare(t.Context(), s.now, other); !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
		t.Errorf("it says %v, want %q", err, says)
	}
	if n := s.count(t, "data2", "number_gates", "number = 5"); n > 0 {
		t.Error("what was refused has begun")
	}

	if _, err := fleet.Open(t.Context(), s.now, going); err != nil { // called off
		t.Fatal(err)
	}
	if err := fleet.Clean(t.Context(), s.now, s.now.Named("data2"), going, silent); err != nil {
		t.Fatal(err)
	}
	if n := s.count(t, "data1", "pg_publication", "true"); n > 0 {
		t.Error("what was called off is still published")
	}
	if err := fleet.Prepare(t.Context(), s.now, other); err != nil {
		t.Errorf("behind it: %v", err)
	}
	if err := fleet.Clean(t.Context(), s.now, s.now.Named("data2"), going, silent); err != nil {
		t.Fatal(err)
	}
	if n := s.count(t, "data1", "pg_publication", "true"); n != 1 {
		t.Error("cleaning what is over ends what another move publishes")
	}
}

// A tenant that was made before a database was configured has no gate there.
func TestPrepare_GivesTheTargetTheTenantsGates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	gates := []struct{ tenant, here, there, want string }{
		{"11111111-1111-4111-8111-111111111111", "open 1", "", "open 1"},
		{"22222222-2222-4222-8222-222222222222", "suspended 3", "open 2", "suspended 3"},
		{"33333333-3333-4333-8333-333333333333", "open 2", "suspended 3", "suspended 3"},
	}
	for _, g := range gates {
		for database, gate := range map[string]string{"data1": g.here, "data2": g.there} {
			if state, revision, found := strings.Cut(gate, " "); found {
				s.exec(t, database, `INSERT INTO tenant_gates (tenant_id, state, layout, identity_state, revision) VALUES ($1, $2, 'v1-64-fresh', 'open', $3::text::bigint)`,
					g.tenant, state, revision)
			}
		}
	}
	if err := fleet.Prepare(t.Context(), s.now, s.move(t)); err != nil {
		t.Fatal(err)
	}
	for _, g := range gates {
		var got string
		err := s.Admin(t, "data2").QueryRow(t.Context(), `SELECT state || ' ' || revision FROM tenant_gates WHERE tenant_id = $1`, g.tenant).Scan(&got)
		if diff := cmp.Diff(g.want, got); diff != "" || err != nil {
			t.Errorf("the gate of %s, %v (-want +got):\n%s", g.tenant, err, diff)
		}
	}
}
