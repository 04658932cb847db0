package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationClose(r *remote) *cobra.Command {
	var decision string
	command := act{
		use:    "close",
		short:  "Close a verified migration, by a decision that is kept",
		states: []string{"verified", "closed"},
		named:  true,
		told:   true,
		long: "From then on the covered collections are read where the plan has put their bodies, and nowhere else.\n" +
			"After an error that leaves the outcome open, repeating it finishes what was begun.\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			names := make([]string, 0, len(t.Progress.Collections))
			for _, c := range t.Progress.Collections {
				names = append(names, c.Collection)
			}
			return fmt.Sprintf("It would be closed for good, by the decision %q.\nFrom then on %d collections are read where the plan has put their bodies, and nowhere else: %s.",
				decision, len(names), strings.Join(names, ", ")), nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			closed, err := api.CloseMigrationWithResponse(ctx, t.tenant, t.id, holdfast.CloseMigration{PlanHash: t.hash, Decision: decision})
			if err != nil {
				return answer{}, err
			}
			return migrationView.one(*closed.JSON200), nil
		},
	}.command(r)
	command.Flags().StringVar(&decision, "decision", "", "why it may be closed, in plain `words`, for the record")
	demandFlag(command, "decision")
	return command
}
