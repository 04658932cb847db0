package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

func newFleet(r *remote) *cobra.Command {
	command := r.noun("fleet", "Move numbers from one data database to another",
		newFleetPrepare(r), newFleetProgress(r), newFleetClose(r), newFleetOpen(r), newFleetClean(r))
	command.Long = "Move numbers from one data database to another, by PostgreSQL's logical replication:\n\n" +
		"  holdfast fleet prepare 32-47 --from data1 --to data2\n" +
		"  (subscribe: deploy/fleet/mover.sql, deploy/fleet/subscribe.sql)\n" +
		"  holdfast fleet progress 32-47 --from data1 --to data2 --wait 2h\n" +
		"  holdfast fleet close 32-47 --on data1\n" +
		"  (restart the processes with the new HOLDFAST_PLACEMENT)\n" +
		"  holdfast fleet progress 32-47 --from data1 --to data2 --wait 10m\n" +
		"  (unsubscribe: deploy/fleet/unsubscribe.sql)\n" +
		"  holdfast fleet open 32-47         # with the new HOLDFAST_PLACEMENT\n" +
		"  holdfast fleet clean 32-47 --on data1\n\n" +
		"docs/fleet.md explains each step, and the way back from it. Every step may be repeated. NUMBERS are as in\n" +
		"HOLDFAST_PLACEMENT: 32-47,50. These commands connect as the role holdfast_owner, directly and through no pooler."
	return command
}

// asMover calls fn with the databases as their owner sees them, and the numbers.
func (r *remote) asMover(ctx context.Context, numbers string, fn func(*postgres.Router, []domain.Number) error) error {
	list, err := postgres.ParseNumbers(numbers)
	if err != nil {
		return exitError{exitUsage, fmt.Errorf("NUMBERS: %w", err)}
	}
	return asOwner(ctx, r.environ, func(_ config.Config, router *postgres.Router) error {
		if err := postgres.CheckDirect(ctx, router); err != nil {
			return err
		}
		if err := postgres.CheckSchema(ctx, router); err != nil {
			return err
		}
		return asDiffering(fn(router, list))
	})
}

// asDiffering gives what the databases' state doesn't allow its exit code.
func asDiffering(err error) error {
	var refused fleet.RefusedError
	var different fleet.DifferentError
	if errors.As(err, &refused) || errors.As(err, &different) {
		return exitError{exitDiffers, err}
	}
	return err
}

// between are the flags of a step that is about both databases.
type between struct{ from, to string }

func (b *between) flags(command *cobra.Command) {
	command.Flags().StringVar(&b.from, "from", "", "the data database that the numbers leave")
	command.Flags().StringVar(&b.to, "to", "", "the data database that they go to")
	command.MarkFlagRequired("from")
	command.MarkFlagRequired("to")
}

func (b *between) move(router *postgres.Router, numbers []domain.Number) (fleet.Move, error) {
	if _, err := named(router, []string{b.from, b.to}); err != nil {
		return fleet.Move{}, err
	}
	return fleet.NewMove(router, numbers, b.from, b.to)
}

// demandNoRestore refuses databases that a restore has closed: that ends first.
func demandNoRestore(ctx context.Context, router *postgres.Router) error {
	states, err := restore.Show(ctx, router)
	if err != nil {
		return err
	}
	var closed []string
	for _, s := range states {
		if s.UnderWay() {
			closed = append(closed, s.Database)
		}
	}
	if len(closed) > 0 {
		return exitError{exitDiffers, fmt.Errorf("closed for a restore: %s: holdfast restore show", strings.Join(closed, ", "))}
	}
	return nil
}

// numbersArgument is NUMBERS.
func numbersArgument(command *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: %s", command.UseLine())
	}
	return nil
}
