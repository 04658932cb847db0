package process

import (
	"os"
	"syscall"
	"time"
)

// Supervise returns the command's exit code once it and its group have ended.
//
// The first interrupt is passed on to the group, as a terminal would. A second
// one, or the end of grace after the first, kills the group.
func Supervise(command *Child, interrupts <-chan os.Signal, grace time.Duration) int {
	// The command may have left processes of its own behind.
	defer command.KillGroup()

	var late <-chan time.Time
	for {
		select {
		case <-command.Ended():
			return command.ExitCode()
		case sig := <-interrupts:
			if late != nil {
				command.KillGroup()
				continue
			}
			command.SignalGroup(sig.(syscall.Signal))
			late = time.After(grace)
		case <-late:
			command.KillGroup()
		}
	}
}
