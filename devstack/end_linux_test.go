package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds how long a process may take to end that must.
const patience = 30 * time.Second

// family is what must be gone when a stack is: processes and a folder.
type family struct {
	processes map[string]int // a pidfd of each
	lock      *os.File       // of the stack's folder
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
	lock, err := os.Open(filepath.Join(filepath.Dir(filepath.Dir(data)), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })

	f := family{processes: make(map[string]int), lock: lock}
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

// awaitUnlocked returns when nothing of the stack holds its folder.
func (f family) awaitUnlocked(t *testing.T) {
	t.Helper()
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

func TestEnd_LeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, s *session)
		code int
	}{
		"command ends": {func(t *testing.T, s *session) { _ = s.stdin.Close() }, 0},
		"SIGTERM":      {signal(syscall.SIGTERM), 128 + 15},
		"SIGINT":       {signal(syscall.SIGINT), 128 + 2},
		"SIGKILL":      {signal(syscall.SIGKILL), 128 + 9},
	} {
		t.Run(name, func(t *testing.T) {
			forEach(t, func(t *testing.T, p person) {
				home := p.home(t)
				s := open(t, p.devstack(home, "--durable=false", "--", "sh", "-c", offspring))
				f := s.family(t)
				c.end(t, s)
				if code := s.wait(); code != c.code {
					t.Errorf("exit code %d, want %d; %s", code, c.code, s.stderr)
				}
				f.wantGone(t)
				f.awaitUnlocked(t)
				wantEmpty(t, home)
			})
		})
	}
}

// The guardian may be killed too. Then the kernel's signals alone remain, and
// the folder stays until another stack sweeps it away.
func TestKilledWithItsGuardian_LeavesNoServer(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		home := p.home(t)
		s := open(t, p.devstack(home, "--durable=false", "--", "sh", "-c", offspring))
		f := s.family(t)
		delete(f.processes, "the command's own child") // nobody is left who knows of it
		t.Cleanup(func() { _ = syscall.Kill(number(t, s.env["BACKGROUND"]), syscall.SIGKILL) })

		if err := syscall.Kill(guardianOf(t, s.cmd.Process.Pid), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.wait()
		f.wantGone(t)
	})
}

func TestParentDies_StackEnds(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		home := p.home(t)
		// The shell has more to do afterwards, so devstack is its child.
		shell := p.command(home, "sh", "-c", `"$0" run --durable=false -- sh -c "$1"; exit`, program, offspring)
		s := open(t, shell)
		f := s.family(t)
		if err := shell.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		f.wantGone(t)
		f.awaitUnlocked(t)
		wantEmpty(t, home)
	})
}

func TestSignal_CommandDecidesTheExitCode(t *testing.T) {
	t.Parallel()
	p := people()[0]
	s := open(t, p.devstack(p.home(t), "--durable=false", "--", "sh", "-c",
		`trap 'exit 5' TERM; env; echo; while :; do sleep 0.01; done`))
	signal(syscall.SIGTERM)(t, s)
	if code := s.wait(); code != 5 {
		t.Errorf("exit code %d, want 5; %s", code, s.stderr)
	}
}

func TestSignal_CommandThatStays_IsKilled(t *testing.T) {
	stubborn := `trap '' TERM; env; echo; while :; do sleep 0.01; done`
	t.Run("after the grace", func(t *testing.T) {
		t.Parallel()
		p := people()[0]
		s := open(t, p.devstack(p.home(t), "--durable=false", "--grace", "50ms", "--", "sh", "-c", stubborn))
		signal(syscall.SIGTERM)(t, s)
		if code := s.wait(); code != 128+9 {
			t.Errorf("exit code %d, want %d; %s", code, 128+9, s.stderr)
		}
	})
	t.Run("at the second signal", func(t *testing.T) {
		t.Parallel()
		p := people()[0]
		s := open(t, p.devstack(p.home(t), "--durable=false", "--grace", "1h", "--", "sh", "-c", stubborn))
		signal(syscall.SIGTERM)(t, s)
		signal(syscall.SIGINT)(t, s)
		if code := s.wait(); code != 128+9 {
			t.Errorf("exit code %d, want %d; %s", code, 128+9, s.stderr)
		}
	})
}

func TestSignal_WhileStarting_LeavesNothing(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		home := p.home(t)
		cmd := p.devstack(home, "--durable=false", "--", "sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitEntry(t, home) // its folder: the start is under way
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 128+15 {
			t.Errorf("exit code %d, want %d", code, 128+15)
		}
		wantEmpty(t, home)
	})
}

func signal(sig syscall.Signal) func(*testing.T, *session) {
	return func(t *testing.T, s *session) {
		t.Helper()
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
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
