package audit_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }

// What is left behind a cut is verified as before, and nobody can take more off, or
// pass off as a cut what was none.
func TestCutOff_LeavesALogThatVerifies(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.now = time.Now().Add(-audit.Kept - 48*time.Hour)
	in.acts(t, 3)
	old, err := in.log.Head(t.Context())
	must(t, err)
	oldLines := in.export(t)
	in.now = time.Now().Add(-audit.Kept + 24*time.Hour)
	in.acts(t, 2)
	young, err := in.log.Head(t.Context())
	must(t, err)
	in.now = time.Now()

	worker := in.logOf(t, postgres.RoleWorker)
	for _, want := range []int64{6, 0} {
		if removed, err := worker.CutOff(t.Context()); err != nil || removed != want {
			t.Fatalf("%d are cut off, want %d: %v", removed, want, err)
		}
	}
	lines := in.export(t)
	v := verify(t, lines, old, young)
	if v.Fault != nil || v.First != 7 || v.Last != 11 || v.Heads != 1 || v.Older != 1 {
		t.Errorf("%+v", v)
	}
	replaced := old
	replaced.Hash[0]++
	if v := verify(t, lines, replaced); v.Fault == nil {
		t.Error("a head of what was cut off may say what it likes")
	}
	if v := verify(t, lines[1:]); v.Fault == nil || v.Fault.Sequence != 8 {
		t.Errorf("more is missing than was cut off: %+v", v.Fault)
	}
	if v := verify(t, append(slices.Clone(oldLines), lines...)); v.Fault != nil {
		t.Errorf("with what was cut off in front: %v", v.Fault)
	}

	// The worker calls the function itself, for all there is.
	pool := in.databases.Router(t, postgres.RoleWorker).Control()
	var removed, remaining int64
	must(t, pool.QueryRow(t.Context(), `SELECT removed, remaining FROM cut_audit_log(1000)`).Scan(&removed, &remaining))
	if removed != 0 || remaining != int64(len(lines)) {
		t.Errorf("%d removed, %d remain", removed, remaining)
	}
	if _, err := in.databases.Router(t, postgres.RoleAPI).Control().Exec(t.Context(), `SELECT cut_audit_log(1000)`); err == nil {
		t.Error("the API may cut")
	}
}
