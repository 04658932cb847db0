package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

func newRestoreClose(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "close DATABASE...",
		Short: "Close the numbers of databases that were restored",
		Long: "Close the numbers of databases that were restored, and note in each of them that it has to be reconciled.\n\n" +
			"Run it before any process may reach the restored database. It waits a minute for transactions that are\n" +
			"under way. Closing a closed one does nothing, unless that was restored once more since.",
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
				var states []restore.State
				for _, db := range databases {
					state, err := restore.Close(ctx, db, time.Now())
					if err != nil {
						return err
					}
					states = append(states, state)
				}
				return writeStates(command.OutOrStdout(), r.asJSON, states)
			})
		},
	}
}
