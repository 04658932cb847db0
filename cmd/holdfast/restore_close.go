package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

func newRestoreClose(r *remote) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "close DATABASE...",
		Short: "Close the numbers of databases that were restored",
		Long: "Close the numbers of databases that were restored, and note in each of them that it has to be reconciled.\n\n" +
			"Run it before any process may reach the restored database. It waits a minute for transactions that are\n" +
			"under way. Closing a closed one does nothing, unless that was restored once more since.\n\n" +
			"It names the processes that are alive, and asks on a terminal; elsewhere it demands --yes.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			return asOwner(ctx, r.environ, func(_ config.Config, router *postgres.Router) error {
				if err := postgres.CheckSchema(ctx, router); err != nil {
					return err
				}
				databases, err := named(router, args)
				if err != nil {
					return err
				}
				if err := tellClosedBefore(command, router, databases); err != nil {
					return err
				}
				question := fmt.Sprintf("Refuse what stands in the numbers of %s until they are reconciled?", strings.Join(args, ", "))
				if err := goAheadWithRestore(command, router, yes, question); err != nil {
					return err
				}
				var states []restore.State
				for _, db := range databases {
					var state restore.State
					err := audited(ctx, router, "restore.close", actSubjects{"database": db.Name}, func() (err error) {
						state, err = restore.Close(ctx, db, time.Now())
						return err
					})
					if err != nil {
						return err
					}
					states = append(states, state)
				}
				return writeStates(command.OutOrStdout(), r.asJSON, states)
			})
		},
	}
	command.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return command
}
