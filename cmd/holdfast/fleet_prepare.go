package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func newFleetPrepare(r *remote) *cobra.Command {
	var ends between
	command := &cobra.Command{
		Use:   "prepare NUMBERS",
		Short: "Make both databases ready for the copying",
		Long: "Make both databases ready for the copying, while traffic goes on: publish the numbers' rows where they are,\n" +
			"and make gates and tables ready where they go. Nothing is copied yet, and nothing is closed.",
		Args: numbersArgument,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			return r.asMover(ctx, args[0], func(router *postgres.Router, numbers []domain.Number) error {
				if err := demandNoRestore(ctx, router); err != nil {
					return err
				}
				m, err := ends.move(router, numbers)
				if err != nil {
					return err
				}
				subjects := actSubjects{"numbers": postgres.FormatNumbers(numbers), "from": m.From.Name, "to": m.To.Name}
				if err := audited(ctx, router, "fleet.prepare", subjects, func() error { return fleet.Prepare(ctx, router, m) }); err != nil {
					return err
				}
				if r.asJSON {
					return json.NewEncoder(command.OutOrStdout()).Encode(map[string]any{"published_on": m.From.Name, "expected_on": m.To.Name, "numbers": ints(numbers)})
				}
				_, err = fmt.Fprintf(command.OutOrStdout(), "%s publishes the numbers %s, and %s is ready to subscribe.\n",
					m.From.Name, postgres.FormatNumbers(numbers), m.To.Name)
				return err
			})
		},
	}
	ends.flags(command)
	return command
}

// ints are numbers as JSON has them.
func ints(numbers []domain.Number) []int {
	list := make([]int, len(numbers))
	for i, n := range numbers {
		list[i] = int(n)
	}
	return list
}
