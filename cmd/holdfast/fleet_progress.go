package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func newFleetProgress(r *remote) *cobra.Command {
	var ends between
	var wait time.Duration
	command := &cobra.Command{
		Use:   "progress NUMBERS",
		Short: "Show how far the copying has come, or wait for it",
		Long: "Show how far the copying has come, or wait for it.\n" +
			"While the numbers are served it exits with 0 once everything is copied and followed closely, and when they\n" +
			"are closed once the other database has all there is; with 4 before.",
		Args: numbersArgument,
		RunE: func(command *cobra.Command, args []string) error {
			return r.asMover(command.Context(), args[0], func(router *postgres.Router, numbers []domain.Number) error {
				m, err := ends.move(router, numbers)
				if err != nil {
					return err
				}
				return r.showProgress(command, m, wait)
			})
		},
	}
	ends.flags(command)
	command.Flags().DurationVar(&wait, "wait", 0, "how long to wait for it")
	return command
}

func (r *remote) showProgress(command *cobra.Command, m fleet.Move, wait time.Duration) error {
	// One look is always allowed; the time is for the others.
	ctx, cancel := context.WithCancel(command.Context())
	defer cancel()
	deadline := time.Now().Add(wait)
	line := newProgress(command.ErrOrStderr())
	var last fleet.Progress
	err := fleet.Await(ctx, m, func(p fleet.Progress) {
		last = p
		line.show("%s%d of %d tables are copied, and %d bytes of the log behind", bar(int64(p.Copied), int64(p.Tables)), p.Copied, p.Tables, p.Behind)
		if time.Now().After(deadline) {
			cancel()
		}
	})
	line.clear()
	late := errors.Is(err, context.Canceled) && command.Context().Err() == nil
	if err != nil && !late {
		return err
	}
	if err := writeProgress(command.OutOrStdout(), r.asJSON, last); err != nil {
		return err
	}
	if late {
		return exitError{code: exitLater}
	}
	return nil
}

func writeProgress(out io.Writer, asJSON bool, p fleet.Progress) error {
	if asJSON {
		return json.NewEncoder(out).Encode(p)
	}
	_, err := fmt.Fprintf(out, "%d of %d tables are copied, %d bytes of the log behind.\n", p.Copied, p.Tables, p.Behind)
	return err
}
