package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newIdentityReport(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "report TENANT",
		Short: "Verify a tenant's directory, and show what an import has made",
		Long: "Verify a tenant's directory, and show what an import has made.\n\n" +
			"The hash stands for every record and key: identity open takes it, and opens nothing else.",
		Args: arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			report, err := api.GetIdentityReportWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return shownReport(*report.JSON200), nil
		}),
	}
}

func shownReport(report holdfast.IdentityReport) answer {
	write := func(out io.Writer) error {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "FAMILY\tSTATUS\tRECORDS")
		for _, c := range report.Records {
			fmt.Fprintf(table, "%s\t%s\t%d\n", c.Family, c.Status, c.Count)
		}
		fmt.Fprintln(table, "\fFAMILY\tKEYS")
		for _, c := range report.Keys {
			fmt.Fprintf(table, "%s\t%d\n", c.Family, c.Count)
		}
		fmt.Fprintf(table, "\fUSER CODES\t%d live, %d past\n", report.UserCodes.Live, report.UserCodes.Past)
		fmt.Fprintf(table, "PENDING OPERATIONS\t%d\n", report.PendingOperations)
		fmt.Fprintf(table, "RESIDUAL CLAIMS\t%d\n", report.ResidualClaims)
		fmt.Fprintf(table, "EVENTS\t%d\n", report.Events)
		fmt.Fprintf(table, "VIOLATIONS\t%d\n", report.Violations)
		openable := "yes"
		if !report.Openable {
			openable = "no: " + strings.Join(report.Obstacles, ", ")
		}
		fmt.Fprintf(table, "OPENABLE\t%s\n", openable)
		fmt.Fprintf(table, "HASH\t%s\n", report.ReportHash)
		if err := table.Flush(); err != nil {
			return err
		}
		for _, v := range report.Found {
			record := "-"
			if v.RecordID != nil {
				record = *v.RecordID
			}
			writeViolation(out, foundViolation{Kind: v.Kind, Database: v.Database, Bucket: v.Bucket, Record: record, Detail: v.Detail})
		}
		return nil
	}
	return answer{value: report, write: write, differs: !report.Openable}
}

// foundViolation is a violation as people see it, wherever it comes from.
type foundViolation struct{ Kind, Database, Bucket, Record, Detail string }

func writeViolation(out io.Writer, v foundViolation) {
	fmt.Fprintf(out, "\n%s in %s on %s, record %s\n  %s\n", v.Kind, v.Bucket, v.Database, v.Record, v.Detail)
}

func newIdentityOpen(r *remote) *cobra.Command {
	var hash string
	command := &cobra.Command{
		Use:   "open TENANT",
		Short: "Open the namespace of a tenant that imported, as a report has verified it",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			opened, err := api.OpenIdentityWithResponse(ctx, args[0], holdfast.OpenIdentity{ReportHash: hash})
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*opened.JSON200), nil
		}),
	}
	command.Flags().StringVar(&hash, "report", "", "the hash that identity report shows")
	if err := command.MarkFlagRequired("report"); err != nil {
		panic(err) // it stands in the line above
	}
	return command
}
