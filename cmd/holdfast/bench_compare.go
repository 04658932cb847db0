package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/bench"
)

func newBenchIdentity(environ []string) *cobra.Command {
	var options bench.IdentityOptions
	command := newComparison("identity", "Measure what applications do most with accounts and devices", environ, &options.Options,
		func(ctx context.Context) ([]bench.Outcome, error) { return bench.Identity(ctx, options) })
	command.Flags().IntVar(&options.Accounts, "accounts", 20_000, "accounts to read from")
	return command
}

func newBenchLease(environ []string) *cobra.Command {
	var options bench.LeaseOptions
	command := newComparison("lease", "Measure what nodes do most with the worlds that they hold", environ, &options.Options,
		func(ctx context.Context) ([]bench.Outcome, error) { return bench.Lease(ctx, options) })
	command.Flags().IntVar(&options.Worlds, "worlds", 1_000, "worlds to hold")
	return command
}

func newBenchRecords(environ []string) *cobra.Command {
	var options bench.RecordOptions
	command := newComparison("records", "Measure what producers and readers of records do most, in both formats", environ, &options.Options,
		func(ctx context.Context) ([]bench.Outcome, error) { return bench.Records(ctx, options) })
	command.Flags().IntVar(&options.Records, "records", 4_000, "records to read from, in each format")
	return command
}

func newBenchNeighbour(environ []string) *cobra.Command {
	var options bench.Options
	return newComparison("neighbour", "Measure what a tenant has left while another sends all that it can", environ, &options,
		func(ctx context.Context) ([]bench.Outcome, error) { return bench.Neighbour(ctx, options) })
}

func newBenchMigration(environ []string) *cobra.Command {
	options := bench.MigrationOptions{Environ: environ}
	var asJSON bool
	command := &cobra.Command{
		Use:   "migration",
		Short: "Measure the move of a tenant's bodies into the object store, tenth by tenth",
		Long: "Measure the move of a tenant's bodies into the object store, tenth by tenth of its records: qualified, planned,\n" +
			"approved and activated as any, and paused behind each tenth, so that the bare loop has the machine around it.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Log, options.Note = command.ErrOrStderr(), noteTo(command)
			outcomes, err := bench.Migration(command.Context(), options)
			return printOutcomes(command, outcomes, err, asJSON)
		},
	}
	command.Flags().IntVar(&options.Records, "records", 100_000, "how many, of one body of 8 KiB each")
	command.Flags().DurationVar(&options.Length, "length", 5*time.Second, "of a turn of the bare loop, in whole seconds")
	command.Flags().StringVar(&options.Profile, "profile", "", "a folder for profiles of the worker, of CPU and of allocations")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// newComparison is a command that measures and prints outcomes. The options are
// its flags'.
func newComparison(name, short string, environ []string, options *bench.Options, measure func(context.Context) ([]bench.Outcome, error)) *cobra.Command {
	var asJSON bool
	options.Environ = environ
	command := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Log, options.Note = command.ErrOrStderr(), noteTo(command)
			outcomes, err := measure(command.Context())
			return printOutcomes(command, outcomes, err, asJSON)
		},
	}
	command.Flags().IntVar(&options.Rounds, "rounds", 5, "rounds that count; each measures all sides")
	command.Flags().DurationVar(&options.Length, "length", 5*time.Second, "of one side of a round, in whole seconds")
	command.Flags().StringVar(&options.Only, "only", "", "measure only what has this in its name")
	command.Flags().StringVar(&options.Profile, "profile", "", "a folder for profiles of the API, of CPU and of allocations")
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

// noteTo says on a command's standard error how far it is.
func noteTo(command *cobra.Command) func(format string, args ...any) {
	return func(format string, args ...any) { fmt.Fprintf(command.ErrOrStderr(), format+"\n", args...) }
}

// printOutcomes prints what was measured, also when an error ended it.
func printOutcomes(command *cobra.Command, outcomes []bench.Outcome, err error, asJSON bool) error {
	if len(outcomes) == 0 {
		return err
	}
	return errors.Join(err, outcomesAnswer(outcomes).print(command.OutOrStdout(), asJSON))
}
