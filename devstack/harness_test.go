package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is the path of the devstack under test.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// buildAndRun builds devstack where every user can run it, and runs the tests.
func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "devstack-program-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		log.Fatal(err)
	}
	program = filepath.Join(dir, "devstack")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		log.Fatalf("build: %v: %s", err, out)
	}
	return m.Run()
}

// patience bounds how long a process may take to end that must.
const patience = 30 * time.Second

// person is a user who runs devstack.
type person struct {
	name string
	as   *syscall.Credential // nil for the user of the tests
}

// people are the users to test with: the one who runs the tests, and when that
// is root also one who may do nothing special.
func people() []person {
	all := []person{{name: "self"}}
	if os.Geteuid() == 0 {
		all = append(all, person{name: "unprivileged", as: &syscall.Credential{Uid: 65534, Gid: 65534}})
	}
	return all
}

// forEach runs the test for each of the people, at the same time.
func forEach(t *testing.T, test func(t *testing.T, p person)) {
	t.Parallel()
	for _, p := range people() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// home makes an empty folder of the person's, outside of any project. Durable
// stacks that are started there put their files there too.
func (p person) home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	p.own(t, dir)
	return dir
}

func (p person) own(t *testing.T, path string) {
	t.Helper()
	if p.as == nil {
		return
	}
	if err := os.Chown(path, int(p.as.Uid), int(p.as.Gid)); err != nil {
		t.Fatal(err)
	}
}

// devstack is a command line of devstack's, run by the person in the folder.
func (p person) devstack(home string, args ...string) *exec.Cmd {
	return p.command(home, program, append([]string{"run"}, args...)...)
}

func (p person) command(home, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	return cmd
}

// outcome is how a finished run of devstack went.
type outcome struct {
	code           int
	stdout, stderr string
}

// finish runs cmd to its end.
func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// session is a running stack whose command waits for the end of its input.
type session struct {
	cmd    *exec.Cmd
	env    map[string]string // what the command finds in its environment
	stdin  io.WriteCloser
	stderr *bytes.Buffer
}

// waiting is a command that prints its environment and waits.
const waiting = `env; echo; exec cat >/dev/null`

// start starts a stack with a waiting command, and returns when it waits.
func (p person) start(t *testing.T, home string, flags ...string) *session {
	t.Helper()
	return open(t, p.devstack(home, append(flags, "--", "sh", "-c", waiting)...))
}

// open starts cmd, which runs a waiting command, and returns when it waits.
func open(t *testing.T, cmd *exec.Cmd) *session {
	t.Helper()
	return openBy(t, cmd, (*exec.Cmd).Start)
}

// openBy is open with another way to start cmd.
func openBy(t *testing.T, cmd *exec.Cmd, start func(*exec.Cmd) error) *session {
	t.Helper()
	s := &session{cmd: cmd, env: make(map[string]string), stderr: new(bytes.Buffer)}
	cmd.Stderr = s.stderr
	cmd.WaitDelay = patience // should a process that was left hold its output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // in case the test stopped early

	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "" {
		name, value, _ := strings.Cut(lines.Text(), "=")
		s.env[name] = value
	}
	if s.env["HOLDFAST_ENVIRONMENT"] == "" {
		_ = cmd.Wait()
		t.Fatalf("the stack didn't start: %s", s.stderr)
	}
	return s
}

// end lets the command end, and returns devstack's exit code.
func (s *session) end(t *testing.T) int {
	t.Helper()
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	return s.wait()
}

// wait returns devstack's exit code when it has ended: 128 and more for the
// signal that ended it.
func (s *session) wait() int {
	_ = s.cmd.Wait() // its answer is in ProcessState
	status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// wantEmpty fails the test unless the folder is empty.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("left in %s: %s", dir, fmt.Sprint(entries))
	}
}
