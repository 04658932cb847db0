package testkit

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Mutant is the code without one of its guards.
type Mutant struct {
	Guard string // what it lacks
	Edits []Edit
	Tests string // some of which must fail; a pattern for go test
}

// Edit replaces a text that is in a file once.
type Edit struct {
	File     string // within the module
	Old, New string
}

// RunMutants removes each guard in turn, and sees a test of the package fail that
// passes with it. root is the module's folder, pkg the package's within it.
func RunMutants(t *testing.T, root, pkg string, mutants []Mutant) {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range mutants {
		all = append(all, m.Tests)
	}
	if output, err := runTests(root, pkg, "-run", strings.Join(all, "|")); err != nil {
		t.Fatalf("the tests fail with every guard in place: %v\n%s", err, output)
	}
	for _, m := range mutants {
		t.Run(m.Guard, func(t *testing.T) {
			output, err := runTests(root, pkg, "-overlay", m.overlay(t, root), "-run", m.Tests)
			switch {
			case err == nil:
				t.Errorf("nothing fails without it")
			case !strings.Contains(output, "--- FAIL: "):
				t.Errorf("no test was run: %v\n%s", err, output)
			}
		})
	}
}

func runTests(root, pkg string, flags ...string) (output string, err error) {
	args := append([]string{"test", "-count=1"}, flags...)
	command := exec.Command("go", append(args, "./"+pkg)...)
	command.Dir = root
	text, err := command.CombinedOutput()
	return string(text), err
}

// overlay has the mutated files stand in for the real ones (go help build, -overlay).
func (m Mutant) overlay(t *testing.T, root string) string {
	t.Helper()
	folder := t.TempDir()
	replace := map[string]string{}
	for _, e := range m.Edits {
		original := filepath.Join(root, e.File)
		if replace[original] == "" {
			replace[original] = filepath.Join(folder, strings.ReplaceAll(e.File, "/", "_"))
			e.apply(t, original, replace[original])
		} else {
			e.apply(t, replace[original], replace[original])
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

func (e Edit) apply(t *testing.T, from, to string) {
	t.Helper()
	source, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), e.Old); n != 1 {
		t.Fatalf("%s has %q %d times, want once: name the guard anew", e.File, e.Old, n)
	}
	if err := os.WriteFile(to, []byte(strings.Replace(string(source), e.Old, e.New, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}
