package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// Account is the user that the server runs as.
type Account struct {
	// drop is the user to become, nil for the user that this process runs as.
	drop *syscall.Credential
}

// overflow is the uid and gid that the system gives to what it can't name. It
// owns nothing.
const overflow = 65534

// ServerAccount is the account for the server: this process's own, or, as the
// server refuses to run as root, an unprivileged one: postgres where the
// machine has it, else nobody.
func ServerAccount() (Account, error) {
	if os.Geteuid() != 0 {
		return Account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		var unknown user.UnknownUserError
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			return Account{}, err
		}
		return accountOf(u)
	}
	return Account{drop: &syscall.Credential{Uid: overflow, Gid: overflow}}, nil
}

func accountOf(u *user.User) (Account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return Account{}, fmt.Errorf("user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return Account{}, fmt.Errorf("user %s: %w", u.Username, err)
	}
	return Account{drop: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// Reaches tells whether the account can pass through dir, by doing it.
func (a Account) Reaches(dir string) bool {
	cmd := a.command(dir, "/bin/sh", "-c", ":")
	return cmd.Run() == nil
}

// command is a command that runs as the account, in dir, with none of the
// caller's environment but what programs need to run.
func (a Account) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.drop}
	return cmd
}

// give makes the account the owner of the file or folder at path.
func (a Account) give(path string) error {
	if a.drop == nil {
		return nil
	}
	return os.Chown(path, int(a.drop.Uid), int(a.drop.Gid))
}
