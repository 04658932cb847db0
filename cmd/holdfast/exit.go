package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// Exit codes, for scripts.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitDiffers = 3
	exitLater   = 4
)

const exitCodes = `Exit codes:
  0  done, and what was asked about is as it should be
  1  it couldn't be done, or not all of it; the error says why
  2  the command line or the configuration is wrong, and nothing was done
  3  what was asked about is not as it should be, or its state doesn't allow what was asked for
  4  nothing is wrong, and it is not at its end: it is held, or goes on when it is asked for again`

// exitError is an error with its exit code. Without err, everything has been
// said already.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return "not as it should be"
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// refusals are the problems by which an act is refused since what it is about isn't
// as it should be. A command that only says what it would do tells them by the same
// exit code.
var refusals = []string{
	"migration_state", "plan_drifted", "baseline_missing",
	"tenant_deleting", "tenant_purged", "deletion_asked",
}

// codeOf is the exit code of a call that failed.
func codeOf(err error) int {
	var exit exitError
	var refused *holdfast.Error
	switch {
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &refused) && slices.Contains(refusals, refused.Code):
		return exitDiffers
	}
	return exitFailed
}

// codeErrors gives the errors of all commands under root the code of a failure
// where they have none: whatever else comes out of cobra is its own refusal of
// a command line.
func codeErrors(root *cobra.Command) {
	for _, command := range root.Commands() {
		codeErrors(command)
	}
	run := root.RunE
	if run == nil {
		return
	}
	root.RunE = func(command *cobra.Command, args []string) error {
		err := run(command, args)
		var exit exitError
		if err == nil || errors.As(err, &exit) {
			return err
		}
		return exitError{exitFailed, err}
	}
}
