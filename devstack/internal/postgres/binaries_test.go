package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestMajorVersion(t *testing.T) {
	for answer, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 19beta1\n":                        19,
		"postgres (PostgreSQL) 9.6.24\n":                         9,
	} {
		if got, err := majorVersion(answer); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", answer, got, err, want)
		}
	}
	if got, err := majorVersion("command not found"); err == nil {
		t.Errorf("no answer at all: %d, want an error", got)
	}
}

func TestNewest_PassesOverWhatIsTooOldOrCannotRun(t *testing.T) {
	root := t.TempDir()
	folder := func(name, version string) string {
		dir := filepath.Join(root, name, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if version != "" {
			writePrograms(t, dir, version)
		}
		return dir
	}
	folder("9", "9.6.24")
	folder("14", "14.18")
	folder("99", "") // a package's leavings
	pattern := filepath.Join(root, "*", "bin")
	if b, ok := newest(Account{}, []string{pattern}); ok {
		t.Errorf("found %v among versions that are too old", b)
	}

	folder("15", "15.13")
	want := Binaries{Dir: folder("16", "16.2"), Major: 16}
	if got, ok := newest(Account{}, []string{"/no/such/folder/*", pattern}); !ok || got != want {
		t.Errorf("found %v, %v; want %v", got, ok, want)
	}
}

// writePrograms writes programs that know their version and nothing else.
func writePrograms(t *testing.T, dir, version string) {
	t.Helper()
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		if err := os.WriteFile(filepath.Join(dir, name), programText(name, version), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func programText(name, version string) []byte {
	return fmt.Appendf(nil, "#!/bin/sh\necho '%s (PostgreSQL) %s'\n", name, version)
}
