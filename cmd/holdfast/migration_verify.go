package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationVerify(r *remote) *cobra.Command {
	phase := oneOf{words: []string{string(holdfast.VerifyBaseline), string(holdfast.VerifyRecheck)}}
	var command *cobra.Command
	command = act{
		use:   "verify",
		short: "Read a sample through the API, before the activation or before closing",
		long: "The phase baseline comes before the activation, recheck before closing. It reads as the tenant's own\n" +
			"programs do, with a short-lived token of its own: one page of each section's export, and up to 128\n" +
			"records by their keys, and hashes every body here. What it hands in are identities, revisions, digests,\n" +
			"lengths and counts, and never contents.\n\n" +
			"It says what it covered. A sample proves nothing of the rest: holdfast migration scrub reads it all.\n" +
			"The exit code is 3 when something is wrong, and 4 when not all of the sample could be read.\n\n",
		statesFor: func(target) []string {
			if phase.value == string(holdfast.VerifyBaseline) {
				return []string{"previewed", "approved"}
			}
			return []string{"drained", "verified"}
		},
		would: func(context.Context, caller, target) (string, error) {
			judged := "What is seen would be kept, for the recheck to be held against."
			if phase.value == string(holdfast.VerifyRecheck) {
				judged = "What is seen would be held against the baseline. A changed digest at the same revision, or a record that has gone, stops the migration."
			}
			return "It would read a sample through the API, for 10 minutes at most. " + judged, nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			shown := newProgress(command.ErrOrStderr())
			defer shown.clear()
			return verify(ctx, api, t, holdfast.NewVerificationPhase(phase.value), shown)
		},
	}.command(r)
	command.Flags().Var(&phase, "phase", "which of the two it is")
	demandFlag(command, "phase")
	return command
}

// verify begins a verification, reads, hands in what it saw, and gives the verdict.
func verify(ctx context.Context, api caller, t target, phase holdfast.NewVerificationPhase, shown *progress) (answer, error) {
	begun, err := api.BeginVerificationWithResponse(ctx, t.tenant, t.id, holdfast.NewVerification{PlanHash: t.hash, Phase: phase})
	if err != nil {
		return answer{}, err
	}
	v := begun.JSON201
	shown.show("reading %s, for %d minutes at most", counted(len(v.Collections), "collection"), v.Limits.PhaseSeconds/60)
	seen, err := holdfast.ReadVerification(ctx, api.url, *v)
	switch {
	case err != nil:
		return answer{}, err
	case ctx.Err() != nil:
		return answer{}, errors.New("interrupted: nothing was handed in, and nothing has changed; it may be begun again")
	}
	if _, err := api.EndVerificationWithResponse(ctx, t.tenant, t.id, v.Report.ReportID, seen); err != nil {
		return answer{}, err
	}
	return reportOf(ctx, api, t.tenant, t.id, v.Report.ReportID)
}

// writeVerdict says what a sample comes to, and of how much.
func writeVerdict(out io.Writer, r holdfast.MigrationReport, v holdfast.VerificationVerdict) error {
	c := v.Coverage
	var text strings.Builder
	fmt.Fprintf(&text, "The %s %s. The migration is %s.\n", r.Kind, verdictWords(v.Outcome), v.State)
	fmt.Fprintf(&text, "Read: %d of %s, %d of %s, %s by key; %s, %s of %s.\n",
		c.Collections, counted(c.OfCollections, "collection"), c.Pages, counted(c.OfPages, "page"), counted(c.Points, "record"),
		counted(c.Records, "different record"), counted(c.Bodies, "body"), sized(c.Bytes))
	if r.Kind == string(holdfast.VerifyRecheck) {
		fmt.Fprintf(&text, "Held against the baseline: %s, of which %d published since and %d deleted since.\n", counted(c.Compared, "section"), c.Newer, c.Tombstones)
	}
	if len(v.Limits) > 0 {
		fmt.Fprintf(&text, "Limits that were reached: %s.\n", strings.Join(v.Limits, ", "))
	}
	if v.Wrong > 0 {
		fmt.Fprintf(&text, "Wrong: %d, the first of it:\n", v.Wrong)
	}
	writeFindings(&text, v.Findings)
	if len(v.Missing) > 0 {
		text.WriteString("What keeps it from being complete, the first of it:\n")
		writeFindings(&text, v.Missing)
	}
	text.WriteString("It says so of what it read, and proves nothing of the rest.\n")
	_, err := io.WriteString(out, text.String())
	return err
}

func writeFindings(text *strings.Builder, findings []holdfast.VerificationFinding) {
	for _, f := range findings {
		fmt.Fprintf(text, "  %s:%s%s\n", f.Reason, placeOf(deref(f.Collection), deref(f.Key), deref(f.Section)), digestsOf(f))
	}
}

func verdictWords(outcome string) string {
	switch outcome {
	case "passed":
		return "passed"
	case "failed":
		return "FAILED"
	case "incomplete":
		return "is incomplete: not all of the sample could be read, and nothing has changed"
	}
	return "came to " + outcome
}

// digestsOf shows a digest that has changed.
func digestsOf(f holdfast.VerificationFinding) string {
	if f.Was == nil && f.Is == nil {
		return ""
	}
	return fmt.Sprintf(", digest %s, was %s", orDash(deref(f.Is)), orDash(deref(f.Was)))
}
