package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestCloseNumbers_WaitsForWhatIsUnderWayAndNamesIt(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 1)
	db := router(t, installation).Databases()[0]

	underWay, err := installation.Admin(t, "data1").Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer underWay.Rollback(context.WithoutCancel(t.Context()))
	if _, err := underWay.Exec(t.Context(), `SELECT pg_advisory_xact_lock_shared(number_gates_lock())`); err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error, 1)
	go func() { cancelled <- postgres.CloseNumbers(impatient, db, []domain.Number{3, 4}) }()
	waitUntilOn(t, installation, "data1", `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`)
	cancel()
	var busy postgres.NumbersBusyError
	want := []uint32{underWay.Conn().PgConn().PID()}
	if err := <-cancelled; !errors.As(err, &busy) || !cmp.Equal(want, busy.Held) {
		t.Fatalf("%v, want the connections %v", err, want)
	}
	checkGates(t, installation, "data1", openGates(db.Numbers...))

	if err := underWay.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := postgres.CloseNumbers(t.Context(), db, []domain.Number{3, 4}); err != nil {
		t.Fatal(err)
	}
	want4 := openGates(db.Numbers...)
	want4[3].State, want4[4].State = "closed", "closed"
	checkGates(t, installation, "data1", want4)
}

func TestReopenNumbers_OpensWhereTheyArePlacedWithWhatAnyGateDemands(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	exec(t, installation, "data1", `UPDATE number_gates SET state = 'closed', lease_rules = 2 WHERE number = 3`)
	exec(t, installation, "data2", `INSERT INTO number_gates VALUES (3, 'copy', 2, 1)`)
	if err := postgres.ReopenNumbers(t.Context(), router(t, installation), []domain.Number{3, 4}); err != nil {
		t.Fatal(err)
	}
	want := openGates(router(t, installation).Databases()[0].Numbers...)
	want[3].RecordFormat, want[3].LeaseRules = 2, 2
	checkGates(t, installation, "data1", want)
}

func TestReopenNumbers_OpensNoneWhenOneMustNotBe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ data1, data2, says string }{
		"open elsewhere":   {`'closed'`, `'open'`, "number 3 is open on data2, and placed on data1"},
		"closed elsewhere": {`'closed'`, `'closed'`, "number 3 is closed on data2, and placed on data1"},
		"only a copy":      {`'copy'`, `'copy'`, "number 3 is a copy on data1"},
		"not there":        {``, `'copy'`, "number 3 is not on data1, where it is placed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installation := testkit.Databases(t, 2)
			exec(t, installation, "data1", `UPDATE number_gates SET state = 'closed' WHERE number = 2`)
			exec(t, installation, "data1", `DELETE FROM number_gates WHERE number = 3`)
			for database, state := range map[string]string{"data1": c.data1, "data2": c.data2} {
				if state != "" {
					exec(t, installation, database, `INSERT INTO number_gates VALUES (3, `+state+`, 1, 1)`)
				}
			}
			if err := postgres.ReopenNumbers(t.Context(), router(t, installation), []domain.Number{2, 3}); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			var state string
			if err := installation.Admin(t, "data1").QueryRow(t.Context(), `SELECT state FROM number_gates WHERE number = 2`).Scan(&state); err != nil || state != "closed" {
				t.Errorf("number 2 is %s, %v", state, err)
			}
		})
	}
}

func TestParseNumbers(t *testing.T) {
	t.Parallel()
	got, err := postgres.ParseNumbers("40,3-5,4")
	if diff := cmp.Diff([]domain.Number{3, 4, 5, 40}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, wrong := range []string{"", "3-", "5-3", "64", "3,,4", "x"} {
		if got, err := postgres.ParseNumbers(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, got)
		}
	}
}
