package process

import (
	"os/exec"
	"syscall"
)

// Child is a process that a keeper started.
type Child struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// PID is the child's id, and that of its group.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ended is closed when the child has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Signal sends sig to the child, if it is still there.
func (c *Child) Signal(sig syscall.Signal) {
	_ = c.cmd.Process.Signal(sig) // fails only when it has ended
}

// SignalGroup sends sig to every process of the child's group that is left.
func (c *Child) SignalGroup(sig syscall.Signal) {
	_ = syscall.Kill(-c.PID(), sig) // an empty group is no failure
}

// KillGroup ends every process of the child's group that is left.
func (c *Child) KillGroup() { c.SignalGroup(syscall.SIGKILL) }

// ExitCode is the exit code of a child that has ended, as a shell says it: 128
// and the signal's number when a signal ended it.
func (c *Child) ExitCode() int {
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}
