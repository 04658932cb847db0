package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func newFleetOpen(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "open NUMBERS",
		Short: "Compare, and open numbers where HOLDFAST_PLACEMENT has them",
		Long: "Open closed numbers where HOLDFAST_PLACEMENT has them: where they have moved to, or, to call a move off,\n" +
			"where they were. What was copied is compared first, every row of every table; it exits with 3 when the\n" +
			"databases differ, and nothing is open then.\n\n" +
			"Once the numbers are open, they can't be opened where they were: the way back is a move back.",
		Args: numbersArgument,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			return r.asMover(ctx, args[0], func(router *postgres.Router, numbers []domain.Number) error {
				if err := demandNoRestore(ctx, router); err != nil {
					return err
				}
				var compared []fleet.Comparison
				err := audited(ctx, router, "fleet.open", actSubjects{"numbers": postgres.FormatNumbers(numbers)}, func() (err error) {
					compared, err = fleet.Open(ctx, router, numbers)
					return err
				})
				var different fleet.DifferentError
				if err != nil && !errors.As(err, &different) {
					return err
				}
				return errors.Join(r.writeOpened(command.OutOrStdout(), numbers, compared, err == nil), err)
			})
		},
	}
}

func (r *remote) writeOpened(out io.Writer, numbers []domain.Number, compared []fleet.Comparison, opened bool) error {
	if r.asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"numbers": ints(numbers), "opened": opened, "compared": append([]fleet.Comparison{}, compared...)})
	}
	for _, c := range compared {
		fmt.Fprintf(out, "Compared %d rows of %d tables: %d differences.\n", c.Rows, c.Tables, len(c.Differences))
		if len(c.Differences) > 0 {
			table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "TABLE\tNUMBER\tROWS WHERE IT WAS\tROWS WHERE IT GOES")
			for _, d := range c.Differences {
				fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", d.Table, d.Number, d.From.Rows, d.To.Rows)
			}
			if err := table.Flush(); err != nil {
				return err
			}
		}
	}
	if !opened {
		return nil
	}
	_, err := fmt.Fprintf(out, "The numbers %s are open.\n", postgres.FormatNumbers(numbers))
	return err
}
