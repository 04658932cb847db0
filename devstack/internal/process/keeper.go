package process

import (
	"os"
	"os/exec"
	"syscall"
)

// Keeper starts children that end with this process.
type Keeper struct {
	starter  *Starter
	guardian *Guardian
}

// NewKeeper returns a keeper, with a guardian that holds lock.
func NewKeeper(starter *Starter, lock *os.File) (*Keeper, error) {
	guardian, err := StartGuardian(lock)
	if err != nil {
		return nil, err
	}
	return &Keeper{starter: starter, guardian: guardian}, nil
}

// Start starts cmd as the leader of a process group. When this process dies it
// gets onDeath, and SIGKILL if it is still there a while later.
func (k *Keeper) Start(cmd *exec.Cmd, onDeath syscall.Signal) (*Child, error) {
	if err := k.starter.start(cmd, onDeath); err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd, ended: make(chan struct{})}
	err := k.guardian.End(c.PID(), onDeath)
	go func() {
		_ = cmd.Wait() // its answer is in ProcessState
		_ = k.guardian.Forget(c.PID())
		close(c.ended)
	}()
	if err != nil {
		c.KillGroup()
		<-c.ended
		return nil, err
	}
	return c, nil
}

// Remove has the folder removed if this process dies before it can do so.
func (k *Keeper) Remove(folder string) error { return k.guardian.Remove(folder) }

// Close lets the guardian go. No child may be left.
func (k *Keeper) Close() error { return k.guardian.Dismiss() }
