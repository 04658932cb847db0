package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ignored is the project's folder for what git must not see.
const ignored = ".holdfast"

// Base is where fresh folders go: the project's ignored folder when from lies
// in the project and reachable says that the database's user can come there,
// else the system's folder for temporary files.
func Base(from string, reachable func(dir string) bool) string {
	root, ok := projectRoot(from)
	if !ok {
		return os.TempDir()
	}
	base := filepath.Join(root, ignored)
	if MakeTraversable(base) != nil || !reachable(base) {
		return os.TempDir()
	}
	return base
}

// memory is Linux's file system in memory, for shared memory by its origin.
const memory = "/dev/shm"

// leastMemory is what must be free there: test databases need about a
// quarter, and a full one would fail them.
const leastMemory = 4 << 30

// Memory is a base for files that need not outlive the machine, where making
// and dropping a database costs a few milliseconds: the file system in memory, if
// there is one with room.
func Memory() (string, bool) {
	var free unix.Statfs_t
	if unix.Statfs(memory, &free) != nil || free.Bavail*uint64(free.Bsize) < leastMemory || unix.Access(memory, unix.W_OK) != nil {
		return "", false
	}
	return memory, true
}

// Temporary makes or finds again the folder of that name among the system's
// temporary files. It refuses one that another user put there.
func Temporary(name string) (string, error) {
	path := filepath.Join(os.TempDir(), name)
	if err := MakeTraversable(path); err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Geteuid() {
		return "", fmt.Errorf("%s isn't this user's folder", path)
	}
	return path, nil
}

// projectRoot is the nearest folder at or above dir that holds this module.
func projectRoot(dir string) (string, bool) {
	for {
		if _, err := os.Stat(filepath.Join(dir, "devstack", "go.mod")); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
