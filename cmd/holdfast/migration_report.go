package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var reportView = view[holdfast.MigrationReport]{
	{"REPORT", func(r holdfast.MigrationReport) string { return r.ReportID }},
	{"KIND", func(r holdfast.MigrationReport) string { return r.Kind }},
	{"BUILD", func(r holdfast.MigrationReport) string { return r.Build }},
	{"BY", func(r holdfast.MigrationReport) string { return r.Actor.Name }},
	{"STARTED", func(r holdfast.MigrationReport) string { return when(r.StartedAt) }},
	{"ENDED", func(r holdfast.MigrationReport) string { return whenever(r.EndedAt) }},
	{"PASSED", func(r holdfast.MigrationReport) string { return passedOf(r) }},
}

// passedOf is what a report came to. One that found nothing wrong, and didn't see all
// that it was to see, hasn't failed.
func passedOf(r holdfast.MigrationReport) string {
	wrong, open := standingOf(r)
	switch {
	case r.Passed == nil:
		return "-"
	case open && !wrong:
		return "not through"
	}
	return yesNo(*r.Passed)
}

func newMigrationReport(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "report TENANT MIGRATION REPORT",
		Short: "Show a baseline, a recheck or a scrub",
		Long: "Show a baseline, a recheck or a scrub: what it came to and what it covered. With --json it has what was\n" +
			"read too. The exit code is 3 when something is wrong, and 4 when it isn't through.",
		Args: arguments("TENANT", "MIGRATION", "REPORT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			return reportOf(ctx, api, args[0], args[1], args[2])
		}),
	}
}

func reportOf(ctx context.Context, api caller, tenant, id, report string) (answer, error) {
	got, err := api.GetMigrationReportWithResponse(ctx, tenant, id, report)
	if err != nil {
		return answer{}, err
	}
	return showReport(*got.JSON200), nil
}

func showReport(r holdfast.MigrationReport) answer {
	told := answer{value: r}
	told.differs, told.later = standingOf(r)
	switch {
	case r.Verdict != nil:
		told.write = func(out io.Writer) error { return writeVerdict(out, r, *r.Verdict) }
	case r.Scrub != nil:
		told.write = func(out io.Writer) error { return writeScrub(out, r, *r.Scrub) }
	default:
		told.write = reportView.one(r).write
	}
	return told
}

// standingOf tells whether a report found something wrong, and whether it hasn't seen
// all that it was to see.
func standingOf(r holdfast.MigrationReport) (wrong, open bool) {
	switch s := r.Scrub; {
	case r.Verdict != nil:
		return r.Verdict.Outcome == "failed", r.Verdict.Outcome == "incomplete"
	case s != nil:
		return s.Corrupt+s.Missing > 0, r.EndedAt == nil || !s.Covered || s.Unreachable > 0
	}
	return false, true
}

// writeScrub says what was read of all bodies, and what is wrong.
func writeScrub(out io.Writer, r holdfast.MigrationReport, s holdfast.ScrubProgress) error {
	var text strings.Builder
	switch {
	case r.EndedAt == nil:
		text.WriteString("The scrub goes on.\n")
	case s.Covered:
		text.WriteString("The scrub came to the end: it covered every body that the collections keep in the object store.\n")
	default:
		fmt.Fprintf(&text, "The scrub ended before it was through: %s. The next one goes on from there.\n", spentOf(s.Spent))
	}
	fmt.Fprintf(&text, "Read: %s. Wrong: %d corrupt, %d missing. Not answered for: %d.\n", scrubbedOf(s), s.Corrupt, s.Missing, s.Unreachable)
	for _, f := range append(append([]holdfast.ScrubFinding{}, s.FirstWrong...), s.FirstUnreached...) {
		fmt.Fprintf(&text, "  %s:%s, digest %s, %d bytes\n", f.Reason, placeOf(f.Collection, f.Key, f.Section), f.Digest, f.Length)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func spentOf(bound *string) string {
	if bound == nil {
		return "it was ended"
	}
	return "its budget of " + *bound + " was spent"
}

func scrubbedOf(s holdfast.ScrubProgress) string {
	if !s.Counted {
		return fmt.Sprintf("%s of %s", counted(s.Bodies, "body"), sized(s.Bytes))
	}
	return fmt.Sprintf("%d of %s, %s of %s", s.Bodies, counted(s.OfBodies, "body"), sized(s.Bytes), sized(s.OfBytes))
}
