//go:build mutate

package lease

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is the code without one of its guards.
type mutant struct {
	guard    string // what it lacks
	file     string // within the module
	old, new string // a text that is there once, and what stands there instead
	tests    string // some of which must fail; a pattern for go test
}

var mutants = []mutant{
	{"the epoch of a lease", "internal/domain/lease/fence.go",
		"case a.Epoch != w.Epoch, caller", "case caller", "TestEveryCallWithAnythingButTheLeaseInForce"},
	{"the principal of a lease", "internal/domain/lease/fence.go",
		"caller != w.Holder, ", "", "TestEveryCallWithAnythingButTheLeaseInForce"},
	{"the secret of a lease", "internal/domain/lease/fence.go",
		", !w.opens(a.Secret)", "", "TestEveryCallWithAnythingButTheLeaseInForce"},
	{"that the coordinator holds while clients write through it", "internal/domain/lease/fence.go",
		"if w.Holder.IsCoordinator() && a == nil {", "if a == nil {", "TestAHostedWriteWhileANodeHolds"},
	{"the activation of a lease", "internal/domain/lease/fence.go",
		"if !w.Activated {", "if false {", "TestBeforeItsActivation"},
	{"the replay through the handoff", "internal/domain/lease/activate.go",
		"if replayed != w.GrantedPosition || hash != w.grantedHash {", "if false {", "TestBeforeItsActivation"},
	{"the end of a lease", "internal/domain/lease/locked.go",
		"if w.over() {", "if false {", "TestALeaseWhoseTimeIsOver"},
	{"the renewal that a revocation was decided from", "internal/domain/lease/revoke.go",
		" || w.RenewedPosition != req.RenewedPosition", "", "TestARevocation"},
	{"that times never decrease", "internal/domain/lease/flush.go",
		"later(now.UTC(), w.LastAt)", "now.UTC()", "TestTheClockStepsBack"},
	{"the evidence of a refused append", "internal/domain/lease/append.go",
		"w.reject(caller, a)", "", "TestAFencedClientInALoop|TestAHolderStoppedPastItsTerm"},
	{"the look for entry ids that are known", "internal/domain/lease/known.go",
		"if len(ids) == 0 {", "if true {", "TestTheSameEntryID_IsOneEntry"},
	{"the key that has each entry id once", "db/migrations/data/00008_worlds.sql",
		"PRIMARY KEY (tenant_id, number, world_id, entry_id)", "PRIMARY KEY (tenant_id, number, world_id, entry_id, position)", "TestTheJournal_HasRoomForAnEntryIDOnce"},
}

// TestMutants removes each guard in turn and sees a test fail that passes with it.
// It takes a while: run make mutate.
func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range mutants {
		all = append(all, m.tests)
	}
	if output, err := run(root, "-run", strings.Join(all, "|")); err != nil {
		t.Fatalf("the tests fail with every guard in place: %v\n%s", err, output)
	}
	for _, m := range mutants {
		t.Run(m.guard, func(t *testing.T) {
			output, err := run(root, "-overlay", m.overlay(t, root), "-run", m.tests)
			switch {
			case err == nil:
				t.Errorf("nothing fails without it")
			case !strings.Contains(output, "--- FAIL: "):
				t.Errorf("no test was run: %v\n%s", err, output)
			}
		})
	}
}

// run runs some of this package's tests.
func run(root string, flags ...string) (output string, err error) {
	args := append([]string{"test", "-count=1"}, flags...)
	command := exec.Command("go", append(args, "./internal/domain/lease")...)
	command.Dir = root
	text, err := command.CombinedOutput()
	return string(text), err
}

// overlay has the mutated file stand in for the real one (go help build, -overlay).
func (m mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	original := filepath.Join(root, m.file)
	source, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s has %q %d times, want once: name the guard anew", m.file, m.old, n)
	}
	folder := t.TempDir()
	mutated, overlay := filepath.Join(folder, filepath.Base(m.file)), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{mutated: []byte(strings.Replace(string(source), m.old, m.new, 1)), overlay: replace} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
