package main

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// What cuts off callers, or rewrites what the control database says, isn't done by a
// slip of a script, and whoever does it is told who is alive.
func TestRestore_AsksBeforeItReachesALiveInstallation(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	if _, err := in.Admin(t, "control").Exec(t.Context(), `INSERT INTO deployments (process_id, process, build, formats, started_at, reported_at)
		VALUES (gen_random_uuid(), 'api', 'build-7', '{1}', now(), now() + interval '1 hour')`); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args   string
		code   int
		stdout string
		stderr []string
	}{
		{"restore close data2", 1, "", []string{"Alive: api", "build-7", "nothing was done", "--yes"}},
		{"restore show", exitOK, "data2     open", nil},
		{"restore reconcile --control", 1, "", []string{"Alive: api", "nothing was done", "--yes"}},
		{"fleet close 40-41 --on data2", exitOK, "", nil},
		{"restore close data2 --yes", exitOK, "to reconcile", []string{"Alive: api", "the numbers 40-41 are closed already"}},
		{"restore close data2 --yes", exitOK, "to reconcile", []string{"Alive: api"}},
		{"restore reconcile", exitOK, "Nothing is left to decide", nil},
		{"restore reconcile --control --yes", exitOK, "Nothing is left to decide", []string{"Alive: api"}},
		{"restore open data2", exitOK, "data2     open", nil},
	} {
		got := execute(t, in.Environ(), strings.Fields(step.args)...)
		if got.code != step.code || !strings.Contains(got.stdout, step.stdout) {
			t.Fatalf("%s: %+v, want %d and %q", step.args, got, step.code, step.stdout)
		}
		for _, want := range step.stderr {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%s: it says %q, want %q", step.args, got.stderr, want)
			}
		}
	}
}
