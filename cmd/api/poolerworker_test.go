package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// buildWorker gives the path of the worker's program.
func buildWorker(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", program, "../worker").CombinedOutput(); err != nil {
		t.Fatalf("build the worker: %v\n%s", err, out)
	}
	return program
}

// spawnWorker runs a worker as a process of its own until the test ends.
func (s *stack) spawnWorker(t testing.TB) *running {
	t.Helper()
	r := &running{log: &lockedBuffer{}}
	cmd := exec.Command(buildWorker(t))
	cmd.Env = s.environ()
	cmd.Stderr = r.log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	r.stop = func() error { cmd.Process.Signal(os.Interrupt); return wait() }
	r.kill = func() { cmd.Process.Kill(); wait() }
	t.Cleanup(r.kill)
	if line, _ := bufio.NewReader(stdout).ReadString('\n'); !strings.Contains(line, "is ready") {
		t.Fatalf("it said %q and ended with %v\n%s", line, r.stop(), r.log)
	}
	return r
}
