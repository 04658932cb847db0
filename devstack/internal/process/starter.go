// Package process starts the stack's processes so that none of them outlives
// the stack: not when the command ends, not when a signal arrives, not when
// the stack's own parent dies, and not when the stack itself is killed.
//
// Three things carry that, from the kindest to the last resort:
//
//   - [Interrupts] and [Supervise] end everything in order;
//   - a [Guardian], a second process on the other end of a pipe, sees the
//     stack's death, however it came, and ends what it was told of;
//   - on Linux, every child also has a parent-death signal, which works when
//     the guardian died too.
package process

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Starter starts children that get a signal when this process dies.
//
// Linux sends a parent-death signal when the thread that started the child
// ends, not when its process does, and Go ends threads as it likes. So every
// child is started by one goroutine, locked to one thread that never ends.
type Starter struct {
	calls chan func()
}

// NewStarter returns a starter, whose thread lasts as long as this process.
func NewStarter() *Starter {
	s := &Starter{calls: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for call := range s.calls {
			call()
		}
	}()
	return s
}

// start starts cmd as the leader of a process group, which a terminal's Ctrl-C
// doesn't reach. Where the system can, cmd gets onDeath when this process dies.
func (s *Starter) start(cmd *exec.Cmd, onDeath syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	setDeathSignal(cmd.SysProcAttr, onDeath)

	var err error
	s.do(func() { err = cmd.Start() })
	return err
}

// do runs f on the starter's thread, and returns when it is done.
func (s *Starter) do(f func()) {
	done := make(chan struct{})
	s.calls <- func() { defer close(done); f() }
	<-done
}
