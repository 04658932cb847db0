package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newQualification(r *remote) *cobra.Command {
	return r.noun("qualification", "Show what builds were found to be able to do with these databases and this bucket",
		newQualificationList(r), newQualificationShow(r))
}

var qualificationView = view[holdfast.QualificationSummary]{
	{"HASH", func(q holdfast.QualificationSummary) string { return q.ReportHash }},
	{"BUILD", func(q holdfast.QualificationSummary) string { return q.Build }},
	{"PASSED", func(q holdfast.QualificationSummary) string { return yesNo(q.Passed) }},
	{"QUALIFIED", func(q holdfast.QualificationSummary) string { return when(q.QualifiedAt) }},
}

func newQualificationList(r *remote) *cobra.Command {
	var build string
	command := &cobra.Command{
		Use:   "list",
		Short: "List the last 100 qualifications, the newest first",
		Args:  arguments(),
		RunE: r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
			params := &holdfast.ListQualificationsParams{}
			if build != "" {
				params.Build = &build
			}
			listed, err := api.ListQualificationsWithResponse(ctx, params)
			if err != nil {
				return answer{}, err
			}
			return qualificationView.table(listed.JSON200.Qualifications), nil
		}),
	}
	command.Flags().StringVar(&build, "build", "", "only those of this `build`")
	return command
}

func newQualificationShow(r *remote) *cobra.Command {
	var text bool
	command := &cobra.Command{
		Use:   "show HASH",
		Short: "Show a qualification's report",
		Long: "Show a qualification's report. The exit code is 3 when it found a promise broken.\n\n" +
			"With --text it prints the report's canonical JSON without a newline behind it, so that sha256sum gives\n" +
			"its hash.",
		Args: arguments("HASH"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			if text && r.asJSON {
				return answer{}, exitError{exitUsage, errors.New("--text is JSON already, letter for letter: leave --json out")}
			}
			got, err := api.GetQualificationWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			told := showQualification(*got.JSON200)
			if text {
				told.write = func(out io.Writer) error {
					_, err := io.WriteString(out, got.JSON200.Text)
					return err
				}
			}
			return told, nil
		}),
	}
	command.Flags().BoolVar(&text, "text", false, "print the canonical report")
	return command
}

func showQualification(q holdfast.Qualification) answer {
	parts := []answer{qualifiedView.one(q), promiseView.table(q.Report.Observations)}
	return answer{value: q, differs: !q.Report.Passed, write: func(out io.Writer) error { return writeParts(out, parts) }}
}

var qualifiedView = view[holdfast.Qualification]{
	{"HASH", func(q holdfast.Qualification) string { return q.ReportHash }},
	{"BUILD", func(q holdfast.Qualification) string { return q.Report.Build }},
	{"PASSED", func(q holdfast.Qualification) string { return yesNo(q.Report.Passed) }},
	{"BEGAN", func(q holdfast.Qualification) string { return when(q.Report.StartedAt) }},
	{"ENDED", func(q holdfast.Qualification) string { return when(q.Report.EndedAt) }},
	{"DATABASES", func(q holdfast.Qualification) string { return databasesOf(q.Report.Databases) }},
	{"OBJECT STORE", func(q holdfast.Qualification) string { return storeOf(&q.Report.Store) }},
	{"COMMANDS", func(q holdfast.Qualification) string { return strings.Join(q.Report.Commands, "; ") }},
	{"TO THE STORE", func(q holdfast.Qualification) string { return movementOf(q.Report.Forward) }},
	{"AND BACK", func(q holdfast.Qualification) string { return movementOf(q.Report.Back) }},
	{"LIMITS", func(q holdfast.Qualification) string { return strings.Join(q.Report.Limits, "; ") }},
}

func movementOf(m holdfast.QualifiedMovement) string {
	return fmt.Sprintf("%d records with %d bodies of %s in %s; %d to %d records a minute, %s to %s a second",
		m.Records, m.Bodies, sized(m.Bytes), time.Duration(m.Milliseconds)*time.Millisecond,
		m.LowRecordsPerMinute, m.HighRecordsPerMinute, sized(m.LowBytesPerSecond), sized(m.HighBytesPerSecond))
}

var promiseView = view[holdfast.QualifiedPromise]{
	{"PROMISE", func(p holdfast.QualifiedPromise) string { return p.Promise }},
	{"KEPT", func(p holdfast.QualifiedPromise) string { return yesNo(p.Passed) }},
	{"SEEN", func(p holdfast.QualifiedPromise) string { return p.Detail }},
}
