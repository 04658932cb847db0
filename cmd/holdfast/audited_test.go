package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What is done to the databases themselves is in the log as what comes by the API is.
func TestAudited_TellsWhatIsDoneToTheDatabases(t *testing.T) {
	t.Parallel()
	in := testkit.EmptyDatabases(t, 1)
	for _, step := range []struct {
		args string
		code int
	}{
		{"schema up", exitOK},
		{"schema up", exitOK}, // with nothing to do
		{"restore close data1 --yes", exitOK},
		{"restore open data1", exitDiffers}, // nobody has reconciled it
		{"restore reconcile", exitOK},
		{"restore open data1", exitOK},
	} {
		if got := execute(t, in.Environ(), strings.Fields(step.args)...); got.code != step.code {
			t.Fatalf("%s: %+v, want %d", step.args, got, step.code)
		}
	}
	want := []string{
		"schema.up done", "restore.close begun", "restore.close done", "restore.open begun", "restore.open refused",
		"restore.reconcile begun", "restore.reconcile done", "restore.open begun", "restore.open done",
	}
	if diff := cmp.Diff(want, actsTold(t, in)); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
}

func TestAudited_WithoutALogNothingIsDone(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	if _, err := in.Admin(t, "control").Exec(t.Context(), `ALTER TABLE audit_log RENAME TO another`); err != nil {
		t.Fatal(err)
	}
	got := execute(t, in.Environ(), "fleet", "close", "3", "--on", "data1")
	if got.code != exitFailed || !strings.Contains(got.stderr, "so it isn't done") {
		t.Errorf("%+v", got)
	}
	var state string
	if err := in.Admin(t, "data1").QueryRow(t.Context(), `SELECT state FROM number_gates WHERE number = 3`).Scan(&state); err != nil || state != "open" {
		t.Errorf("number 3 is %s: %v", state, err)
	}
}
