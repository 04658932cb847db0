package launch

import (
	"os/exec"
	"runtime"
	"syscall"
)

// endWithParent has the kernel kill the program when this process dies.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// start starts the command from a thread that lives as long as this process:
// the kernel sends the signal when the thread ends that made the child.
func start(command *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		started <- command.Start()
		select {}
	}()
	return <-started
}
