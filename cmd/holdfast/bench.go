package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/bench"
)

func newBench(environ []string) *cobra.Command {
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure Holdfast beside what it is compared with",
		Long: "Measure Holdfast beside what it is compared with, in one run, and print ratios.\n" +
			"It makes the schema in the configured databases and fills them: never run it on data that matters.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newBenchIdentity(environ), newBenchLease(environ), newBenchRecords(environ), newBenchMigration(environ), newBenchNeighbour(environ), newBenchScale(environ), newReferenceServer(environ))
	return command
}

func newBenchScale(environ []string) *cobra.Command {
	options := bench.ScaleOptions{Environ: environ}
	command := &cobra.Command{
		Use:   "scale",
		Short: "Import, list and delete many accounts, one by one",
		Long:  "Import, list and delete many accounts, one by one, on one data database. It fails if one is missed, or a claim is left that is not of a quarantined handle.",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Log = command.ErrOrStderr()
			return bench.Scale(command.Context(), options, func(s bench.Stage) {
				fmt.Fprintf(command.OutOrStdout(), "%-8s %7d in %8v, %6.0f/s, the API's memory at most %d MiB\n",
					s.What, s.Count, s.Elapsed.Round(time.Millisecond), s.Rate(), s.Memory>>20)
			})
		},
	}
	command.Flags().IntVar(&options.Accounts, "accounts", 100_000, "how many")
	return command
}

func newReferenceServer(environ []string) *cobra.Command {
	return &cobra.Command{
		Use:    "reference-server",
		Short:  "Serve the bare handlers that requests are compared with",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return bench.ServeReference(command.Context(), environ, func(address string) {
				fmt.Fprintf(command.OutOrStdout(), "The reference listens on http://%s\n", address)
			})
		},
	}
}
