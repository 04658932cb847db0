//go:build !linux

package launch

import (
	"os/exec"
	"syscall"
)

func endWithParent() *syscall.SysProcAttr { return nil }

func start(command *exec.Cmd) error { return command.Start() }
