package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// GuardArgument is the only argument of the process that runs [Guard].
const GuardArgument = "guard"

// Guardian is a second process that ends what this one leaves when it is
// killed. It reads from a pipe whose other end only this process holds, so the
// pipe's end tells it of this process's death, whatever the cause.
type Guardian struct {
	cmd *exec.Cmd

	mu   sync.Mutex // one line at a time
	pipe io.WriteCloser
}

// StartGuardian starts this program again, as the guardian. It also holds lock
// open, so that a lock on the stack's folder lasts until all has ended.
func StartGuardian(lock *os.File) (*Guardian, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	cmd := exec.Command(program, GuardArgument)
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{lock}
	// A session of its own: neither a terminal's signals nor a kill of the
	// stack's process group reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	return &Guardian{cmd: cmd, pipe: pipe}, nil
}

// End has the child get sig when this process dies. SIGKILL goes to the child's
// whole group; any other signal asks, and the group is killed if it takes long.
func (g *Guardian) End(pid int, sig syscall.Signal) error { return g.tell("end %d %d", pid, sig) }

// Forget takes back what was said of a child that has ended, whose id the
// system may give to another.
func (g *Guardian) Forget(pid int) error { return g.tell("forget %d", pid) }

// Remove has the folder removed, after the processes, when this process dies.
func (g *Guardian) Remove(folder string) error { return g.tell("remove %q", folder) }

// Dismiss ends the guardian with nothing done.
func (g *Guardian) Dismiss() error {
	if err := g.tell("dismiss"); err != nil {
		return err
	}
	if err := g.pipe.Close(); err != nil {
		return err
	}
	return g.cmd.Wait()
}

func (g *Guardian) tell(format string, args ...any) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := fmt.Fprintf(g.pipe, format+"\n", args...); err != nil {
		return fmt.Errorf("tell the guardian: %w", err)
	}
	return nil
}
