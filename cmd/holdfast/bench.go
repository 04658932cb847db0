package main

import (
	"fmt"
	"io"
	"text/tabwriter"
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
	command.AddCommand(newBenchIdentity(environ), newBenchScale(environ), newReferenceServer(environ))
	return command
}

func newBenchIdentity(environ []string) *cobra.Command {
	options := bench.Options{Environ: environ}
	command := &cobra.Command{
		Use:   "identity",
		Short: "Measure what applications do most with accounts and devices",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Log = command.ErrOrStderr()
			options.Note = func(format string, args ...any) { fmt.Fprintf(command.ErrOrStderr(), format+"\n", args...) }
			outcomes, err := bench.Identity(command.Context(), options)
			printOutcomes(command.OutOrStdout(), outcomes)
			return err
		},
	}
	command.Flags().IntVar(&options.Rounds, "rounds", 5, "rounds that count; each measures both sides")
	command.Flags().DurationVar(&options.Length, "length", 5*time.Second, "of one side of a round, in whole seconds")
	command.Flags().StringVar(&options.Only, "only", "", "measure only what has this in its name")
	command.Flags().StringVar(&options.Profile, "profile", "", "a folder for CPU profiles of the API")
	command.Flags().IntVar(&options.Readers, "accounts", 20_000, "accounts to read from")
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

func printOutcomes(out io.Writer, outcomes []bench.Outcome) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "what\tratio\tat least\treached\tproduct/s\treference/s\tp50\tp99\tcommits\tsyncs\tallocations\tratios of the rounds\t")
	for _, o := range outcomes {
		fmt.Fprintf(table, "%s\t%.2f\t%.2f\t%v\t%.0f\t%.0f\t%v\t%v\t%.2f\t%.3f\t%.0f\t%.2f\t\n", o.What, o.Ratio(), o.AtLeast, o.Reached(), o.ProductRate, o.ReferenceRate,
			o.P50.Round(10*time.Microsecond), o.P99.Round(10*time.Microsecond), o.Cost.Commits, o.Cost.Syncs, o.Cost.Allocations, o.Ratios)
	}
	table.Flush()
	fmt.Fprintln(out, "Commits, syncs of the database's log, and the API's allocations are those of one operation of the product.")
	for _, o := range outcomes {
		fmt.Fprintf(out, "%s: %s, against %s.\n", o.What, o.Product, o.Reference)
	}
}

func newReferenceServer(environ []string) *cobra.Command {
	return &cobra.Command{
		Use:    "reference-server",
		Short:  "Serve the bare handler that reads are compared with",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return bench.ServeReference(command.Context(), environ, func(address string) {
				fmt.Fprintf(command.OutOrStdout(), "The reference listens on http://%s\n", address)
			})
		},
	}
}
