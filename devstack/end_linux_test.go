package main_test

import (
	"os"
	"syscall"
	"testing"
)

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
				s := open(t, p.devstack(p.home(t), "--durable=false", "--", "sh", "-c", offspring))
				f := s.family(t)
				c.end(t, s)
				if code := s.wait(); code != c.code {
					t.Errorf("exit code %d, want %d; %s", code, c.code, s.stderr)
				}
				f.wantGone(t)
				f.wantNoFolder(t)
			})
		})
	}
}

// The guardian may be killed too. Then the kernel's signals alone remain, and
// the folder stays until another stack sweeps it away.
func TestKilledWithItsGuardian_LeavesNoServer(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		s := open(t, p.devstack(p.home(t), "--durable=false", "--", "sh", "-c", offspring))
		f := s.family(t)
		t.Cleanup(func() { _ = os.RemoveAll(f.folder) })
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
		// The shell has more to do afterwards, so devstack is its child.
		shell := p.command(p.home(t), "sh", "-c", `"$0" run --durable=false -- sh -c "$1"; exit`, program, offspring)
		s := open(t, shell)
		f := s.family(t)
		if err := shell.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		f.wantGone(t)
		f.wantNoFolder(t)
	})
}

// Linux also signals a child when only the thread that started it ends, as a
// thread of a Go program may at any time.
func TestParentsThreadEnds_StackStays(t *testing.T) {
	t.Parallel()
	p := people()[0]
	var thread shortThread
	s := openBy(t, p.devstack(p.home(t), "--durable=false", "--", "sh", "-c", waiting), thread.start)
	thread.end()
	s.wantSetting(t, "fsync", "off") // it still answers
	if code := s.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
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
	stubborn := `trap '' TERM INT; env; echo; while :; do sleep 0.01; done`
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
		cmd := p.devstack(home, "--", "sleep", "1000") // durable, and so in this folder
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
