package main_test

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// shortThread is a thread that starts a process and ends before this one.
type shortThread struct {
	id      int
	release chan struct{}
}

// start starts cmd on the thread.
func (s *shortThread) start(cmd *exec.Cmd) error {
	s.release = make(chan struct{})
	started := make(chan error)
	go s.run(func() { started <- cmd.Start() })
	return <-started
}

// run runs f on a thread that ends after release.
func (s *shortThread) run(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The first thread never ends. It is held until another is taken.
		defer runtime.UnlockOSThread()
		taken := make(chan struct{})
		go s.run(func() { close(taken); f() })
		<-taken
		return
	}
	s.id = unix.Gettid()
	f()
	<-s.release
	// Still locked: the thread ends with this goroutine.
}

// end ends the thread, and returns when it has ended.
func (s *shortThread) end() {
	close(s.release)
	for unix.Tgkill(unix.Getpid(), s.id, 0) == nil {
		runtime.Gosched()
	}
}
