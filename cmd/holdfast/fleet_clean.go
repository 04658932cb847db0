package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func newFleetClean(r *remote) *cobra.Command {
	var database string
	command := &cobra.Command{
		Use:   "clean NUMBERS",
		Short: "Remove the rows of numbers that are open elsewhere",
		Long: "Remove from a database the rows of numbers that are open elsewhere: what a move has left where they were,\n" +
			"or, of a move that was called off, where they were to go. The database's other numbers are served meanwhile.\n" +
			"It refuses numbers that are not open where HOLDFAST_PLACEMENT has them, and may be repeated.",
		Args: numbersArgument,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			return r.asMover(ctx, args[0], func(router *postgres.Router, numbers []domain.Number) error {
				databases, err := named(router, []string{database})
				if err != nil {
					return err
				}
				if err := demandNoRestore(ctx, router); err != nil {
					return err
				}
				line := newProgress(command.ErrOrStderr())
				removed := map[string]int64{}
				total := int64(0)
				subjects := actSubjects{"numbers": postgres.FormatNumbers(numbers), "database": database}
				err = audited(ctx, router, "fleet.clean", subjects, func() error {
					return fleet.Clean(ctx, router, databases[0], numbers, func(table string, rows int64) {
						removed[table] = rows
						total += rows
						line.show("%d tables are done, %d rows removed", len(removed), total)
					})
				})
				line.clear()
				switch {
				case err != nil:
					return err
				case r.asJSON:
					return json.NewEncoder(command.OutOrStdout()).Encode(map[string]any{"cleaned": database, "numbers": ints(numbers), "rows": removed})
				}
				_, err = fmt.Fprintf(command.OutOrStdout(), "Removed %d rows of the numbers %s from %s.\n", total, postgres.FormatNumbers(numbers), database)
				return err
			})
		},
	}
	command.Flags().StringVar(&database, "on", "", "the data database that is rid of them")
	command.MarkFlagRequired("on")
	return command
}
