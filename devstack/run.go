package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/holdfast-dev/holdfast/devstack/internal/process"
)

const (
	defaultDatabases = 2
	defaultGrace     = 20 * time.Second
)

// options is what the command line asks for.
type options struct {
	databases int  // 0 for what a kept stack has, else the default
	durable   bool // commits survive a power cut
	keep      string
	grace     time.Duration
	command   []string
}

// run starts the stack, runs the command, ends the stack, and returns the exit
// code. The error is what to print; a command that failed has said so itself.
func run(o options) (int, error) {
	program, err := exec.LookPath(o.command[0])
	if err != nil {
		return startFailureCode(err), err
	}
	folder, err := os.Getwd() // before the S3 server moves
	if err != nil {
		return stackFailed, err
	}
	starter := process.NewStarter()
	interrupts, err := process.Interrupts(starter)
	if err != nil {
		return stackFailed, err
	}
	stack, interrupts, err := startStack(starter, interrupts, folder, o)
	var stopped interrupted
	switch {
	case errors.As(err, &stopped):
		return stopped.code(), nil
	case err != nil:
		return stackFailed, err
	}

	cmd := exec.Command(program)
	cmd.Args = o.command
	cmd.Dir = folder
	cmd.Env = stack.settings().environment(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin(), os.Stdout, os.Stderr
	code, err := stack.run(cmd, interrupts, o.grace)
	if stopErr := stack.stop(); stopErr != nil {
		return max(code, 1), errors.Join(err, stopErr)
	}
	return code, err
}

// interrupted says that a signal came before the stack had started.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted by " + i.signal.String() }
func (i interrupted) code() int     { return 128 + int(i.signal) }

// startStack starts the stack unless an interrupt comes first. It returns the
// interrupts that are to come.
func startStack(starter *process.Starter, interrupts <-chan os.Signal, folder string, o options) (*stack, <-chan os.Signal, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	rest := make(chan os.Signal, cap(interrupts))
	go func() {
		for sig := range interrupts {
			cancel(interrupted{sig.(syscall.Signal)})
			rest <- sig
		}
	}()
	s, err := newStack(ctx, starter, folder, o)
	return s, rest, err
}

// stdin is the command's standard input: this process's own, unless it is a
// terminal. The command runs in a process group of its own, in the background
// of the terminal, where a read would stop it for good.
func stdin() *os.File {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return nil
	}
	return os.Stdin
}

// startFailureCode is the exit code for a command that couldn't be started:
// 127 when there is none of that name, and 126 otherwise, as a shell says it.
func startFailureCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// run runs the command beside the stack.
func (s *stack) run(cmd *exec.Cmd, interrupts <-chan os.Signal, grace time.Duration) (int, error) {
	command, err := s.keeper.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return startFailureCode(err), fmt.Errorf("start the command: %w", err)
	}
	return process.Supervise(command, interrupts, grace), nil
}
