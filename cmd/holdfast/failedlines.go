package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// openFailed opens the file that takes an import's failed lines, and never
// truncates one: what is there are lines of an earlier run that nobody may have
// corrected yet. So a file with something in it is gone on with where the import
// is, from a line behind the first, and else refused. The one that is imported,
// under whatever name, is refused before it is opened for writing.
func openFailed(name string, in input, from int) (*os.File, error) {
	there, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	case err != nil:
		return nil, err
	case !there.Mode().IsRegular(): // a terminal or a pipe, where nothing can be lost
		return os.OpenFile(name, os.O_WRONLY, 0)
	case in.info != nil && os.SameFile(in.info, there):
		return nil, exitError{exitUsage, fmt.Errorf("--failed %s is the file that is imported: name another", name)}
	case there.Size() > 0 && from == 1:
		return nil, exitError{exitUsage, fmt.Errorf("--failed %s exists, and an import from line 1 would mix its lines with its own: "+
			"correct and import those first, or name another file; with --from-line an import goes on with it", name)}
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	if err := endLine(file, there.Size()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// endLine ends the last line of a file of so many bytes, where an editor or a
// run that was killed left it open: the next would become a part of it.
func endLine(file *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err := file.Write([]byte("\n"))
	return err
}
