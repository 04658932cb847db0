package process

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// setDeathSignal has the kernel send sig to the child when its parent dies.
// The child asks for it after it has changed its user, which would clear it.
func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) {
	attr.Pdeathsig = sig
}

// orphaned returns a channel that is closed when this process's parent dies.
//
// The kernel's signal says only that a thread of the parent ended. So it is
// taken as a question, and the parent's id, which changes with its death, as
// the answer. A signal of that kind from anyone else is harmless.
func orphaned(s *Starter) (<-chan struct{}, error) {
	parent := os.Getppid()
	questions := make(chan os.Signal, 1)
	signal.Notify(questions, unix.SIGUSR1)

	var err error
	s.do(func() {
		err = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGUSR1), 0, 0, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("ask for the parent-death signal: %w", err)
	}

	gone := make(chan struct{})
	go func() {
		// The first look is for a parent that died before the signal was asked for.
		for os.Getppid() == parent {
			<-questions
		}
		close(gone)
	}()
	return gone, nil
}
