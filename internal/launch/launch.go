// Package launch runs Holdfast's own programs beside a command that drives
// them: the demo, the benchmarks.
package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// Process is a running program that has said that it is ready.
type Process struct {
	Address string // the host:port that it serves on; empty for a worker

	command *exec.Cmd
	output  *tail // of both its streams
	ended   chan struct{}
	mu      sync.Mutex
	err     error
}

// PID is the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// readyLine is the one line that a program prints when it serves, with its
// address if it has one.
var readyLine = regexp.MustCompile(`^The \S+ (?:listens on http://(\S+)|is ready)`)

// readyWithin bounds a program's start.
const readyWithin = 30 * time.Second

// Start runs a program (its name, then its arguments) that stands beside this
// one, with settings over those of this process, and returns when it has printed
// its ready line. What else it writes goes to log; the error of a program that
// ends before it is ready carries the last lines of that. It ends with Stop or
// Kill, and with this process.
func Start(ctx context.Context, program []string, settings []string, log io.Writer) (*Process, error) {
	name := program[0]
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(filepath.Join(filepath.Dir(self), name), program[1:]...)
	command.Env = append(os.Environ(), settings...)
	command.SysProcAttr = endWithParent()
	p := &Process{command: command, output: &tail{log: log}, ended: make(chan struct{})}
	command.Stderr = p.output
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := start(command); err != nil {
		return nil, fmt.Errorf("start %s: %w (run make build)", name, err)
	}
	ready := make(chan string, 1)
	go p.watch(stdout, ready)
	select {
	case p.Address = <-ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("%s ended before it was ready: %w", name, p.End())
	case <-time.After(readyWithin):
		p.Kill()
		return nil, fmt.Errorf("%s was not ready within %v", name, readyWithin)
	case <-ctx.Done():
		p.Kill()
		return nil, ctx.Err()
	}
}

// watch passes the program's output on, tells the first ready line, and waits
// for the end.
func (p *Process) watch(stdout io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(stdout)
	for told := false; lines.Scan(); {
		if found := readyLine.FindSubmatch(lines.Bytes()); found != nil && !told {
			told = true
			ready <- string(found[1])
			continue
		}
		fmt.Fprintln(p.output, lines.Text())
	}
	err := p.command.Wait()
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	close(p.ended)
}

// Done is closed when the program has ended, by itself or not.
func (p *Process) Done() <-chan struct{} { return p.ended }

// End waits for the end and tells it, never nil, with the last lines that the
// program wrote: what there is to say about an end that nobody asked for.
func (p *Process) End() error {
	<-p.ended
	err := p.Err()
	if err == nil {
		err = errors.New("exit status 0")
	}
	if last := p.output.String(); last != "" {
		return fmt.Errorf("%w; its last lines:\n%s", err, last)
	}
	return err
}

// Err is how the program ended, nil while it runs and after exit code 0.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Kill ends the program at once, as a crash would.
func (p *Process) Kill() {
	p.command.Process.Kill()
	<-p.ended
}

// Stop asks the program to drain, and kills it if that takes too long.
func (p *Process) Stop() error {
	p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return p.Err()
	case <-time.After(20 * time.Second):
		p.Kill()
		return errors.New("did not drain in time and was killed")
	}
}
