package tenancy_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func (n *notes) floors(t *testing.T) []int16 {
	t.Helper()
	return rows(t, n.admin, pgx.RowTo[int16], `SELECT DISTINCT record_format FROM number_gates ORDER BY 1`)
}

func TestDemandRecordFormat_WaitsForWhatIsUnderWay_AndWhoCameMeanwhileIsJudgedByIt(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	commit := n.begin(t, "admitted")
	demanded, late := make(chan error, 1), make(chan error, 1)
	go func() { demanded <- n.gates.DemandRecordFormat(t.Context(), 2) }()
	n.waitUntil(t, sqlWaiting, 1)
	go func() { late <- enterKnowing(t.Context(), n.db.Pool, n.tenant, 7, 1) }()
	n.waitUntil(t, sqlWaiting, 2)
	if diff := cmp.Diff([]int16{1}, n.floors(t)); diff != "" {
		t.Errorf("floors while one is under way (-want +got)\n%s", diff)
	}

	must(t, commit())
	must(t, <-demanded)
	var refused *pgconn.PgError
	if err := <-late; !errors.As(err, &refused) || refused.Code != "HF003" {
		t.Errorf("who knows less came while it was raised: %v, want HF003", err)
	}
	must(t, n.write(t.Context(), "knows enough"))
	if diff := cmp.Diff([]string{"admitted", "knows enough"}, n.written(t)); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

// Every admission of a tenant asks for it. Only the first may hold up others.
func TestDemandRecordFormat_WhatIsDemandedAlreadyWaitsForNobody(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	must(t, n.gates.DemandRecordFormat(t.Context(), 2))
	commit := n.begin(t, "under way")
	must(t, n.gates.DemandRecordFormat(t.Context(), 2)) // would wait until the role's lock_timeout, and fail
	must(t, n.gates.DemandRecordFormat(t.Context(), 1))
	must(t, commit())
}

func TestDemandRecordFormat_OnlyGoesUp_AndCoversClosedNumbers(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.exec(t, `UPDATE number_gates SET record_format = 3 WHERE number = 9`)
	n.exec(t, `UPDATE number_gates SET state = 'closed' WHERE number = 8`)
	type row struct {
		Number       int16
		State        string
		RecordFormat int16
		LeaseRules   int16
	}
	look := func() []row {
		return rows(t, n.admin, pgx.RowToStructByPos[row], `SELECT number, state, record_format, lease_rules FROM number_gates ORDER BY number`)
	}
	want := look()
	for i := range want {
		want[i].RecordFormat = max(want[i].RecordFormat, 2)
	}
	for _, format := range []int16{2, 1, 2} {
		must(t, n.gates.DemandRecordFormat(t.Context(), format))
		if diff := cmp.Diff(want, look()); diff != "" {
			t.Errorf("gates of numbers after %d (-want +got)\n%s", format, diff)
		}
	}
}

// What the serving roles may do to the gates of numbers is this and no more.
func TestNumberGates_AreTheOperatorsToRaiseAndNothingElse(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	const raise = `UPDATE number_gates SET record_format = 2`
	for _, c := range []struct {
		who, role, enter, sql string
		changed               int64
		state                 string // of the SQL error, "" for none
	}{
		{"the API as an operator", postgres.RoleAPI, `SELECT enter_operator()`, raise, 64, ""},
		{"the API as a tenant", postgres.RoleAPI, `SELECT set_config('holdfast.tenant', '` + n.tenant.String() + `', true)`, raise, 0, ""},
		{"the API as nobody", postgres.RoleAPI, `SELECT 1`, raise, 0, ""},
		{"the worker", postgres.RoleWorker, `SELECT enter_operator()`, raise, 0, "42501"},
		{"the API that opens", postgres.RoleAPI, `SELECT enter_operator()`, `UPDATE number_gates SET state = 'open'`, 0, "42501"},
		{"the API that lowers rules", postgres.RoleAPI, `SELECT enter_operator()`, `UPDATE number_gates SET lease_rules = 0`, 0, "42501"},
		{"the API that removes", postgres.RoleAPI, `SELECT enter_operator()`, `DELETE FROM number_gates`, 0, "42501"},
	} {
		tx, err := n.Router(t, c.role).Databases()[0].Pool.Begin(t.Context())
		must(t, err)
		_, err = tx.Exec(t.Context(), c.enter)
		must(t, err)
		tag, err := tx.Exec(t.Context(), c.sql)
		var pg *pgconn.PgError
		if errors.As(err, &pg) != (c.state != "") || pg != nil && pg.Code != c.state || tag.RowsAffected() != c.changed {
			t.Errorf("%s: %v, %v; want %d rows, error %q", c.who, tag, err, c.changed, c.state)
		}
		must(t, tx.Rollback(t.Context()))
	}
}
