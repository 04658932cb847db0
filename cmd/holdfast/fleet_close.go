package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func newFleetClose(r *remote) *cobra.Command {
	var database string
	var wait time.Duration
	command := &cobra.Command{
		Use:   "close NUMBERS",
		Short: "Close numbers where they are: callers are told to come again",
		Long: "Close numbers where they are: from then on what stands in them is refused with partition_unavailable (503),\n" +
			"and callers are told to come again.\n\n" +
			"It waits for the transactions under way. When the time is over, nothing is closed, and it names the\n" +
			"connections that hold it up: wait for them, or end them by pg_terminate_backend, and repeat it.",
		Args: numbersArgument,
		RunE: func(command *cobra.Command, args []string) error {
			return r.asMover(command.Context(), args[0], func(router *postgres.Router, numbers []domain.Number) error {
				databases, err := named(router, []string{database})
				if err != nil {
					return err
				}
				subjects := actSubjects{"numbers": postgres.FormatNumbers(numbers), "database": database}
				err = audited(command.Context(), router, "fleet.close", subjects, func() error {
					ctx, cancel := context.WithTimeout(command.Context(), wait)
					defer cancel()
					return fleet.Close(ctx, databases[0], numbers)
				})
				var busy postgres.NumbersBusyError
				switch {
				case errors.As(err, &busy):
					return exitError{exitLater, err}
				case err != nil:
					return err
				case r.asJSON:
					return json.NewEncoder(command.OutOrStdout()).Encode(map[string]any{"closed_on": database, "numbers": ints(numbers)})
				}
				_, err = fmt.Fprintf(command.OutOrStdout(), "%s has closed the numbers %s.\n", database, postgres.FormatNumbers(numbers))
				return err
			})
		},
	}
	command.Flags().StringVar(&database, "on", "", "the data database that has them")
	command.MarkFlagRequired("on")
	command.Flags().DurationVar(&wait, "wait", 15*time.Second, "how long to wait for transactions under way")
	return command
}
