package postgres

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// Repository is where the packaged binaries of PostgreSQL are published.
const Repository = "https://repo1.maven.org/maven2"

// DownloadBinaries downloads the server's programs for this machine and
// unpacks them into dir. The archive is kept in the user's home, so only the
// first call on a machine takes long.
func DownloadBinaries(ctx context.Context, a Account, repository, dir string) (Binaries, error) {
	if b, ok := inspect(a, filepath.Join(dir, "bin")); ok {
		return b, nil
	}
	scratch, err := os.MkdirTemp("", "holdfast-download-")
	if err != nil {
		return Binaries{}, err
	}
	defer os.RemoveAll(scratch)

	// The library can't be asked for the programs alone, and can't start a
	// server as root, nor one that ends with this process. So it is given a
	// place for the data that can't be: beneath a file. It unpacks, fails
	// there, and leaves the rest to this package.
	library := embedded.NewDatabase(embedded.DefaultConfig().
		Version(embedded.V15).
		BinaryRepositoryURL(repository).
		BinariesPath(dir).
		RuntimePath(filepath.Join(scratch, "runtime")).
		DataPath(filepath.Join(dir, "bin", "initdb", "data")).
		Port(0).
		Logger(io.Discard))
	failed := make(chan error, 1)
	go func() { failed <- library.Start() }()

	select {
	case <-ctx.Done():
		return Binaries{}, context.Cause(ctx)
	case err := <-failed:
		if b, ok := inspect(a, filepath.Join(dir, "bin")); ok {
			return b, nil
		}
		return Binaries{}, fmt.Errorf("download PostgreSQL: %s", firstLine(err))
	}
}

func firstLine(err error) string {
	if err == nil {
		return "what came has no programs that run here"
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
