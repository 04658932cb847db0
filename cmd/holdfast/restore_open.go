package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

func newRestoreOpen(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "open DATABASE...",
		Short: "Open the numbers of databases that have been reconciled",
		Args:  cobra.MinimumNArgs(1),
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
					var state restore.State
					err := audited(ctx, router, "restore.open", actSubjects{"database": db.Name}, func() (err error) {
						state, err = restore.Open(ctx, router, db, time.Now())
						return err
					})
					switch {
					case errors.Is(err, restore.ErrUnreconciled), errors.Is(err, restore.ErrNotClosed):
						return exitError{exitDiffers, fmt.Errorf("%s: %w", db.Name, err)}
					case err != nil:
						return err
					}
					states = append(states, state)
				}
				return writeStates(command.OutOrStdout(), r.asJSON, states)
			})
		},
	}
}
