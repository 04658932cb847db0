package folder

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFresh_IsRemovedAtItsEnd(t *testing.T) {
	base := t.TempDir()
	f := fresh(t, base)
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("mode %v, %v; want one that lets others pass", info.Mode(), err)
	}
	closeFolder(t, f)
	wantEntries(t, base)
}

func TestFresh_SweepsWhatNobodyHolds(t *testing.T) {
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	held, left := fresh(t, base), fresh(t, base)
	// As if the process had been killed: its lock goes, its folder stays.
	if err := left.Lock().Close(); err != nil {
		t.Fatal(err)
	}

	next := fresh(t, base)
	wantEntries(t, base, "other", filepath.Base(held.Path), filepath.Base(next.Path))
	closeFolder(t, next)
	closeFolder(t, held)
	wantEntries(t, base, "other")
}

func TestKeep_StaysAndIsFoundAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "down")
	f, err := Keep(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closeFolder(t, f)

	f, err = Keep(path)
	if err != nil {
		t.Fatal(err)
	}
	wantEntries(t, path, "file", "lock")
	closeFolder(t, f)
}

func TestBase_IsTheProjectsFolderWhereThatCanBeReached(t *testing.T) {
	root := t.TempDir()
	module := filepath.Join(root, "devstack")
	if err := os.Mkdir(module, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	reachable := func(string) bool { return true }
	unreachable := func(string) bool { return false }
	for _, c := range []struct {
		from      string
		reachable func(string) bool
		want      string
	}{
		{root, reachable, filepath.Join(root, ".holdfast")},
		{module, reachable, filepath.Join(root, ".holdfast")},
		{root, unreachable, os.TempDir()},
		{t.TempDir(), reachable, os.TempDir()},
	} {
		if got := Base(c.from, c.reachable); got != c.want {
			t.Errorf("from %s: %s, want %s", c.from, got, c.want)
		}
	}
}

func TestTemporary_IsFoundAgain_UnlessItLeadsElsewhere(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, err := Temporary("name")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Temporary("name"); err != nil || second != first {
		t.Errorf("second time %s, %v; want %s", second, err, first)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(os.TempDir(), "link")); err != nil {
		t.Fatal(err)
	}
	if path, err := Temporary("link"); err == nil {
		t.Errorf("took %s, a link", path)
	}
}

func fresh(t *testing.T, base string) *Folder {
	t.Helper()
	f, err := Fresh(base)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func closeFolder(t *testing.T, f *Folder) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// wantEntries fails the test unless the folder has those entries and no other.
func wantEntries(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]bool)
	for _, name := range names {
		want[name] = true
	}
	for _, entry := range entries {
		if !want[entry.Name()] {
			t.Errorf("%s has %s", dir, entry.Name())
		}
		delete(want, entry.Name())
	}
	for name := range want {
		t.Errorf("%s lacks %s", dir, name)
	}
}
