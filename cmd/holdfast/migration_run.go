package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationRun(r *remote) *cobra.Command {
	var w watching
	var watch bool
	var command *cobra.Command
	command = act{
		use:      "run",
		short:    "Ask for a run, by which workers move bodies for a while",
		states:   []string{"active"},
		current:  true,
		obstacle: refusedByDrift,
		long: "Workers of the plan's build do it, for at most 50 minutes and 100,000 passes. It ends before that when\n" +
			"nothing is left, when only deferred records are left, or when the migration is paused or stopped.\n" +
			"Nothing runs again by itself: ask for the next run.\n\n" +
			"It only asks. With --watch it follows the run too: an interruption ends the watching, and not the run.\n" +
			watchExits + "\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			left := "nothing is known of what is left before the activation; the plan has counts"
			if isActivated(t.Migration) {
				left = atLeast(t.Progress.Left) + counted(t.Progress.Left.Records, "record") + " left to move"
			}
			return fmt.Sprintf("It would ask the workers to move bodies, for at most 50 minutes: %s.", left), nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			begun, err := api.RunMigrationWithResponse(ctx, t.tenant, t.id, holdfast.NamedPlan{PlanHash: t.hash})
			switch {
			case err != nil:
				return answer{}, err
			case watch:
				return w.follow(ctx, api, command.ErrOrStderr(), t.tenant, t.id, begun.JSON202.RunID)
			}
			return runView.one(*begun.JSON202), nil
		},
	}.command(r)
	command.Flags().BoolVar(&watch, "watch", false, "follow until the run has ended")
	w.add(command.Flags())
	return command
}
