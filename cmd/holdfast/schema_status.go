package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
)

func newSchemaStatus(environ []string) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "status",
		Short: "Show versions, what is pending, and where the numbers are",
		Long: "Show versions, what is pending, and where the numbers are.\n" +
			"It changes nothing, and exits with 3 when the databases are not as this build and the configuration want them.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return asOwner(command.Context(), environ, func(_ config.Config, router *postgres.Router) error {
				status, err := schema.ReadStatus(command.Context(), router)
				if err != nil {
					return err
				}
				if err := printStatus(command.OutOrStdout(), status, asJSON); err != nil {
					return err
				}
				if len(status.Problems) > 0 {
					return exitError{code: exitDiffers}
				}
				return nil
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func printStatus(out io.Writer, status schema.Status, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DATABASE\tSET\tAPPLIED\tPENDING\tUNKNOWN")
	for _, set := range status.Sets {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", set.Database, set.Name, runs(set.Applied), runs(set.Pending), runs(set.Unknown))
	}
	fmt.Fprintln(table, "\fDATABASE\tNUMBERS PLACED\tOPEN\tCLOSED")
	for _, numbers := range status.Numbers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", numbers.Database, runs(numbers.Placed), runs(numbers.Open), runs(numbers.Closed))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, problem := range status.Problems {
		fmt.Fprintln(out, problem)
	}
	if len(status.Problems) == 0 {
		fmt.Fprintln(out, "The schema is up to date.")
	}
	return nil
}

// runs writes ascending numbers as "1-3,7", and none as "-".
func runs[N int | int64](numbers []N) string {
	if len(numbers) == 0 {
		return "-"
	}
	return postgres.FormatNumbers(numbers)
}
