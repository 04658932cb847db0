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
// in the project and usable says that the servers can work there, else the
// system's folder for temporary files.
func Base(from string, usable func(dir string) bool) string {
	root, ok := projectRoot(from)
	if !ok {
		return os.TempDir()
	}
	base := filepath.Join(root, ignored)
	if MakeTraversable(base) != nil || !usable(base) {
		return os.TempDir()
	}
	return base
}

// memory is Linux's file system in memory.
const memory = "/dev/shm"

// leastMemory is how many bytes must be free there: the tests' databases need
// about a quarter, and a full one would fail them.
const leastMemory = 4 << 30

// Memory is a base for files that need not outlive the machine: the file system
// in memory, if there is one with room. A database is made and dropped there in
// milliseconds, whatever the disk is busy with.
func Memory() (string, bool) {
	var space unix.Statfs_t
	if unix.Statfs(memory, &space) != nil || unix.Access(memory, unix.W_OK) != nil {
		return "", false
	}
	free := uint64(space.Bavail) * uint64(space.Bsize)
	return memory, free >= leastMemory
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
