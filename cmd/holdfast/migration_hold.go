package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationPause(r *remote) *cobra.Command {
	return act{
		use:    "pause",
		short:  "Hold a migration, and end its run",
		states: []string{"active", "paused", "stopped"},
		long: "No pass commits from then on, and what was moved stays where it is. Repeating it finishes what an\n" +
			"error had interrupted; so does pausing what is stopped, which stays so.\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			open := "No run is open."
			if run := t.Progress.Run; run != nil {
				open = fmt.Sprintf("The run that %s asked for would end with the pass under way.", run.AskedBy)
			}
			return "It would hold every collection: no pass commits until it is resumed. " + open, nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			paused, err := api.PauseMigrationWithResponse(ctx, t.tenant, t.id, holdfast.NamedPlan{PlanHash: t.hash})
			if err != nil {
				return answer{}, err
			}
			return migrationView.one(*paused.JSON200), nil
		},
	}.command(r)
}

func newMigrationResume(r *remote) *cobra.Command {
	return act{
		use:     "resume",
		short:   "Let a paused or stopped migration go on",
		states:  []string{"paused", "stopped", "active"},
		current: true,
		warning: drifted("Its plan has drifted, and a run of it would be refused."),
		long: "Bodies are moved by the next run, which has to be asked for. For one that is stopped another operator\n" +
			"must have approved it before.\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			if stop := t.Migration.Stop; stop != nil {
				return fmt.Sprintf("It stopped for a review: %s\nNext step: %s\nIt would be %s again, if an operator has approved that since it stopped. No run begins by it.",
					stopOf(stop), nextStepOf(t.Migration), stop.FromState), nil
			}
			by := ""
			if t.Migration.HeldBy != nil {
				by = " It was paused by " + *t.Migration.HeldBy + "."
			}
			return "It would let go of every collection. No run begins by it." + by, nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			resumed, err := api.ResumeMigrationWithResponse(ctx, t.tenant, t.id, holdfast.NamedPlan{PlanHash: t.hash})
			if err != nil {
				return answer{}, err
			}
			return migrationView.one(*resumed.JSON200), nil
		},
	}.command(r)
}

func newMigrationAbort(r *remote) *cobra.Command {
	return act{
		use:      "abort",
		short:    "Give a migration up before it is activated",
		states:   []string{"requested", "previewed", "approved", "aborted"},
		planless: true,
		long:     "Nothing has been moved by then, so nothing has to be brought back.\n\n",
		would: func(context.Context, caller, target) (string, error) {
			return "It would end for good. Nothing has been moved, so nothing is brought back.", nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			aborted, err := api.AbortMigrationWithResponse(ctx, t.tenant, t.id, holdfast.MigrationAbort{PlanHash: t.Migration.PlanHash})
			if err != nil {
				return answer{}, err
			}
			return migrationView.one(*aborted.JSON200), nil
		},
	}.command(r)
}
