// Package folder keeps the folders in which stacks put their files: a fresh
// one for each run, or one that is kept from run to run.
//
// A stack holds a lock in its folder for as long as any of its processes
// lives. So two stacks never share a kept folder, and a fresh one whose lock
// is free was left by a stack that could not tidy up, and goes.
package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockName    = "lock"
	freshPrefix = "holdfast-run-"

	// traversable lets another user, the database's, pass through by name.
	traversable = 0o711
)

// Folder is a stack's folder, locked.
type Folder struct {
	Path string // absolute
	Kept bool   // it outlives the stack

	lock *os.File
}

// Fresh makes a new folder in base for one run, and removes those in base that
// no stack holds any more.
func Fresh(base string) (*Folder, error) {
	if err := sweep(base); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(base, freshPrefix)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, traversable); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName+".new"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(lock); err != nil {
		return nil, err
	}
	// A sweep of another stack sees the lock only once it is held.
	if err := os.Rename(lock.Name(), filepath.Join(path, lockName)); err != nil {
		return nil, err
	}
	return &Folder{Path: path, lock: lock}, nil
}

// Keep makes or takes over the folder at path. It waits a moment for a stack
// that is just ending there.
func Keep(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := MakeTraversable(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := tryLock(lock)
		if err == nil {
			return &Folder{Path: path, Kept: true, lock: lock}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			_ = lock.Close()
			return nil, fmt.Errorf("%s is in use by another stack: %w", path, err)
		}
	}
}

// Lock is the held lock, for a process that must hold it too.
func (f *Folder) Lock() *os.File { return f.lock }

// Close removes the folder unless it is kept, and lets the lock go.
func (f *Folder) Close() error {
	var err error
	if !f.Kept {
		err = os.RemoveAll(f.Path)
	}
	return errors.Join(err, f.lock.Close())
}

// MakeTraversable makes the folder at path, and its parents, so that another
// user can pass through it to what lies within.
func MakeTraversable(path string) error {
	if err := os.MkdirAll(path, traversable); err != nil {
		return err
	}
	return os.Chmod(path, traversable) // the umask may have taken it back
}

// sweep removes the fresh folders in base that no stack holds.
func sweep(base string) error {
	locks, err := filepath.Glob(filepath.Join(base, freshPrefix+"*", lockName))
	if err != nil {
		return err
	}
	for _, path := range locks {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue // another user's, or just gone
		}
		if tryLock(lock) == nil {
			_ = os.RemoveAll(filepath.Dir(path)) // another sweep may be at it too
		}
		_ = lock.Close()
	}
	return nil
}

func tryLock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
