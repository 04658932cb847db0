package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// site is an installation of two data databases, of which numbers 3 and 4 are to go
// from data1 to data2. Both are on one server, so rows are copied by the test; the
// rehearsal of docs/fleet.md in cmd/api replicates between two.
type site struct {
	*testkit.Installation
	now   *postgres.Router // the owner's, with 3 and 4 on data1
	later *postgres.Router // and on data2
}

var going = []domain.Number{3, 4}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Installation: testkit.Databases(t, 2)}
	s.now = s.Router(t, postgres.RoleOwner)
	settings := s.Settings(postgres.RoleOwner)
	settings.Placement[3], settings.Placement[4] = "data2", "data2"
	var err error
	if s.later, err = postgres.Open(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.later.Close)
	for _, sql := range []string{
		`INSERT INTO entry_ids SELECT gen_random_uuid(), n, 'w', 'e' || i, i FROM generate_series(1, 40) i, unnest('{3,4,5}'::int[]) n`,
		`INSERT INTO event_counters SELECT gen_random_uuid(), n, 1 FROM unnest('{3,5}'::int[]) n`,
		`INSERT INTO sweeps SELECT 'claims', 'handle', n, '-infinity', u, u, u, NULL, NULL, 1, 1, 1
		   FROM unnest('{3,5}'::int[]) n, (SELECT '00000000-0000-0000-0000-000000000000'::uuid AS u) z`,
	} {
		s.exec(t, "data1", sql)
	}
	return s
}

func (s *site) exec(t *testing.T, database, sql string, args ...any) {
	t.Helper()
	if _, err := s.Admin(t, database).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func (s *site) move(t *testing.T) fleet.Move {
	t.Helper()
	m, err := fleet.NewMove(s.now, going, "data1", "data2")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// prepared is a site behind Prepare, with the numbers closed, and copied or not.
func prepared(t *testing.T, copied bool) *site {
	t.Helper()
	s := newSite(t)
	if err := fleet.Prepare(t.Context(), s.now, s.move(t)); err != nil {
		t.Fatal(err)
	}
	if copied {
		s.copy(t, "entry_ids")
		s.copy(t, "event_counters")
	}
	s.close(t, "data1")
	return s
}

func (s *site) copy(t *testing.T, table string) {
	t.Helper()
	rows, _ := s.Admin(t, "data1").Query(t.Context(), `SELECT to_json(t)::text FROM `+table+` t WHERE number IN (3, 4)`)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	s.exec(t, "data2", `INSERT INTO `+table+` SELECT r.* FROM unnest($1::text[]) j, json_populate_record(NULL::`+table+`, j::json) r`, found)
}

func (s *site) close(t *testing.T, database string) {
	t.Helper()
	if err := postgres.CloseNumbers(t.Context(), s.now.Named(database), going); err != nil {
		t.Fatal(err)
	}
}

func (s *site) expectStates(t *testing.T, database string, want ...string) {
	t.Helper()
	rows, _ := s.Admin(t, database).Query(t.Context(), `SELECT number || ' ' || state FROM number_gates WHERE number IN (3, 4) ORDER BY number`)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("gates of %s (-want +got):\n%s", database, diff)
	}
}

func (s *site) count(t *testing.T, database, table, where string) (n int) {
	t.Helper()
	if err := s.Admin(t, database).QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE `+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func silent(string, int64) {}
