package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// family is what must be gone when a stack is: processes and a folder.
type family struct {
	processes map[string]int // a pidfd of each
	folder    string
	lock      *os.File // in the folder
}

// offspring is a waiting command with a process of its own in the background.
const offspring = `sleep 1000 </dev/null >/dev/null 2>&1 & export BACKGROUND=$!; ` + waiting

// family finds the session's processes: the server's first, one that serves a
// client, the command, and the command's own.
func (s *session) family(t *testing.T) family {
	t.Helper()
	conn := s.admin(t)
	var data string
	var backend int
	if err := conn.QueryRow(t.Context(), "SELECT current_setting('data_directory'), pg_backend_pid()").Scan(&data, &backend); err != nil {
		t.Fatal(err)
	}
	pidfile, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := bytes.Cut(pidfile, []byte("\n"))
	background := number(t, s.env["BACKGROUND"])
	folder := filepath.Dir(filepath.Dir(data))
	lock, err := os.Open(filepath.Join(folder, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })

	f := family{processes: make(map[string]int), folder: folder, lock: lock}
	for name, pid := range map[string]int{
		"postgres":                number(t, string(first)),
		"postgres's backend":      backend,
		"the command":             parentOf(t, background),
		"the command's own child": background,
	} {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		f.processes[name] = fd
	}
	return f
}

// wantGone fails the test for each process that doesn't end.
func (f family) wantGone(t *testing.T) {
	t.Helper()
	for name, fd := range f.processes {
		if !readable(t, fd) {
			t.Errorf("%s is still there", name)
		}
	}
}

// wantNoFolder fails the test if the folder is there when nothing of the stack
// holds it any more.
func (f family) wantNoFolder(t *testing.T) {
	t.Helper()
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", f.folder, err)
	}
}

// guardianOf is the id of the guardian of the devstack with that id.
func guardianOf(t *testing.T, pid int) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		text, _ := os.ReadFile(path) // it may just have ended
		candidate := number(t, filepath.Base(filepath.Dir(path)))
		if string(text) == program+"\x00guard\x00" && parentOf(t, candidate) == pid {
			return candidate
		}
	}
	t.Fatal("there is no guardian")
	return 0
}

// parentOf is the id of the process's parent.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	parent, _, _ := strings.Cut(rest, "\n")
	return number(t, parent)
}

// readable waits until the descriptor is, and tells whether it came to that. A
// process's descriptor is readable when it has ended.
func readable(t *testing.T, fd int) bool {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(end).Milliseconds()))
		if err == unix.EINTR && time.Now().Before(end) {
			continue
		}
		if err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		return n == 1
	}
}

// awaitEntry returns when the folder isn't empty.
func awaitEntry(t *testing.T, dir string) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, dir, unix.IN_CREATE); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return
	}
	if !readable(t, watch) {
		t.Fatalf("nothing came in %s", dir)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
