package folder

import (
	"os"
	"path/filepath"
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
