package postgres

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldest is the oldest major version that Holdfast runs on: it needs views
// that respect their caller's row-level security.
const oldest = 15

// Binaries are the server's programs, all of one version.
type Binaries struct {
	Dir   string
	Major int // of the version: 15, say
}

func (b Binaries) program(name string) string { return filepath.Join(b.Dir, name) }

// folders is where packages put the server's programs when they don't put
// them on the PATH: Debian, Red Hat, the source's default, Homebrew (two
// places), and Postgres.app.
func folders() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// FindBinaries looks for the server's programs on the machine: on the PATH,
// where pg_config says, and where packages put them, the newest of those first.
// The account must be able to run them.
func FindBinaries(a Account) (Binaries, bool) {
	if dir, ok := onPath(); ok {
		if b, ok := inspect(a, dir); ok {
			return b, true
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if b, ok := inspect(a, strings.TrimSpace(string(out))); ok {
			return b, true
		}
	}
	return newest(a, folders())
}

// onPath is the folder of the postgres that the PATH leads to. The server
// finds its other files from where it really is, so links are followed.
func onPath() (string, bool) {
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", false
	}
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	return filepath.Dir(path), true
}

// newest is the newest of the binaries in the folders that match the patterns.
func newest(a Account, patterns []string) (Binaries, bool) {
	var found []Binaries
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // fails only on a malformed pattern
		for _, dir := range dirs {
			if b, ok := inspect(a, dir); ok {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		return Binaries{}, false
	}
	return slices.MaxFunc(found, func(x, y Binaries) int { return cmp.Compare(x.Major, y.Major) }), true
}

// inspect tells whether dir has all that a server needs, in a version that is
// new enough, and runnable by the account.
func inspect(a Account, dir string) (Binaries, bool) {
	b := Binaries{Dir: dir}
	if a.command("/", b.program("initdb"), "--version").Run() != nil {
		return Binaries{}, false
	}
	out, err := a.command("/", b.program("postgres"), "--version").Output()
	if err != nil {
		return Binaries{}, false
	}
	b.Major, err = majorVersion(string(out))
	if err != nil || b.Major < oldest {
		return Binaries{}, false
	}
	return b, true
}

// majorVersion reads the answer to --version, "postgres (PostgreSQL) 15.18
// (Debian 15.18-0+deb12u1)" say, or of a preview "postgres (PostgreSQL) 19beta1".
func majorVersion(answer string) (int, error) {
	m := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(answer)
	if m == nil {
		return 0, fmt.Errorf("no version in %q", answer)
	}
	return strconv.Atoi(m[1])
}
