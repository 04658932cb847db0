package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What replication copies in between is nothing here: the numbers are empty. The
// rehearsal of docs/fleet.md, with traffic and two servers, is cmd/api's.
func TestFleet_NumbersGoFromOneDatabaseToAnother(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	now := in.Environ()
	later := append(in.Environ(), "HOLDFAST_PLACEMENT=data1=0-29 data2=30-63")
	var want []string // of the audit log
	for _, step := range []struct {
		environ []string
		args    string
		code    int
		stdout  string
		stderr  string
	}{
		{now, "fleet prepare 30-31 --from data1 --to data3", exitUsage, "", `no database "data3"`},
		{now, "fleet prepare 31-30 --from data1 --to data2", exitUsage, "", "NUMBERS"},
		{now, "fleet prepare 31-32 --from data1 --to data2", exitDiffers, "", "number 32 is not known on data1"},
		{now, "fleet prepare 30-31 --from data1 --to data2", exitOK, "data1 publishes the numbers 30-31, and data2 is ready to subscribe.\n", ""},
		{now, "fleet progress 30-31 --from data1 --to data2", exitDiffers, "", "nobody subscribes"},
		{later, "fleet open 30-31", exitDiffers, "", "number 30 is open on data1"},
		{now, "fleet close 29-31 --on data2", exitDiffers, "", "number 29 is not known on data2"},
		{now, "fleet close 30-31 --on data2", exitDiffers, "", "number 30 is copy on data2"},
		{now, "schema status", exitOK, "The schema is up to date.\n", ""}, // nothing was closed
		{now, "fleet close 30-31 --on data1", exitOK, "data1 has closed the numbers 30-31.\n", ""},
		{now, "fleet clean 30-31 --on data2", exitDiffers, "", "number 30 is closed on data1"},
		{now, "fleet open 30-31", exitOK, "The numbers 30-31 are open.\n", ""}, // called off
		{now, "fleet close 30-31 --on data1 --json", exitOK, `{"closed_on":"data1","numbers":[30,31]}` + "\n", ""},
		{now, "fleet close 30-31 --on data1", exitOK, "data1 has closed the numbers 30-31.\n", ""}, // and again
		{later, "fleet open 30-31", exitOK, "Compared 0 rows of ", ""},
		{later, "schema status", exitOK, "The schema is up to date.\n", ""},
		{now, "schema status", exitDiffers, "open on data2, and placed on data1: the numbers 30-31", ""},
		{later, "fleet clean 30-31 --on data1", exitOK, "Removed 0 rows of the numbers 30-31 from data1.\n", ""},
	} {
		got := execute(t, step.environ, strings.Fields(step.args)...)
		if got.code != step.code || !strings.Contains(got.stdout, step.stdout) || !strings.Contains(got.stderr, step.stderr) {
			t.Fatalf("%s: %+v, want %d, %q and %q", step.args, got, step.code, step.stdout, step.stderr)
		}
		words := strings.Fields(step.args)
		outcome, acts := map[int]string{exitOK: "done", exitDiffers: "refused"}[step.code]
		if acts && words[0] == "fleet" && words[1] != "progress" {
			want = append(want, "fleet."+words[1]+" begun", "fleet."+words[1]+" "+outcome)
		}
	}
	if diff := cmp.Diff(want, actsTold(t, in)); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
}

// actsTold are the operations and outcomes of the audit log.
func actsTold(t *testing.T, in *testkit.Installation) []string {
	t.Helper()
	rows, _ := in.Admin(t, "control").Query(t.Context(), `SELECT operation || ' ' || (entry::jsonb ->> 'outcome') FROM audit_log ORDER BY sequence`)
	told, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func TestFleetOpen_TellsWhatDiffers(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	later := append(in.Environ(), "HOLDFAST_PLACEMENT=data1=0-29 data2=30-63")
	if _, err := in.Admin(t, "data1").Exec(t.Context(), `INSERT INTO event_counters VALUES (gen_random_uuid(), 31, 1)`); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"fleet prepare 30-31 --from data1 --to data2", "fleet close 30-31 --on data1"} {
		if got := execute(t, in.Environ(), strings.Fields(args)...); got.code != exitOK {
			t.Fatalf("%s: %+v", args, got)
		}
	}
	got := execute(t, later, "fleet", "open", "30-31")
	if got.code != exitDiffers || !strings.Contains(got.stdout, "event_counters  31      1                  0") || !strings.Contains(got.stderr, "nothing was opened") {
		t.Errorf("%+v", got)
	}
}

func TestFleetClose_NamesWhatHoldsItUp(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	underWay, err := in.Admin(t, "data1").Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer underWay.Rollback(context.WithoutCancel(t.Context()))
	if _, err := underWay.Exec(t.Context(), `SELECT pg_advisory_xact_lock_shared(number_gates_lock())`); err != nil {
		t.Fatal(err)
	}
	got := execute(t, in.Environ(), "fleet", "close", "3", "--on", "data1", "--wait", "100ms")
	if got.code != exitLater || !strings.Contains(got.stderr, "pg_terminate_backend") {
		t.Errorf("%+v", got)
	}
}
