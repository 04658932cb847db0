package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationShow(r *remote) *cobra.Command {
	var w watching
	var watch bool
	command := &cobra.Command{
		Use:   "show TENANT MIGRATION",
		Short: "Show where a migration stands, how far it is, and what came of it",
		Long: "Show where a migration stands, how far it is, why it is slow or held, what happens next without\n" +
			"anybody's asking, and all that was done with it.\n\n" +
			"With --watch it follows the open run.\n" + watchExits,
		Args: arguments("TENANT", "MIGRATION"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		if watch {
			return w.follow(ctx, api, command.ErrOrStderr(), args[0], args[1], "")
		}
		status, err := migrationStatus(ctx, api, args[0], args[1])
		return showStatus(status), err
	})
	command.Flags().BoolVar(&watch, "watch", false, "follow until the open run has ended")
	w.add(command.Flags())
	return command
}

// showStatus shows a migration with what belongs to it.
func showStatus(s holdfast.TenantMigrationStatus) answer {
	parts := []answer{statusView.one(s)}
	parts = withTable(parts, collectionView, s.Progress.Collections)
	parts = withTable(parts, runView, s.Runs)
	parts = withTable(parts, reportView, s.Reports)
	parts = withTable(parts, transitionView, s.Transitions)
	return answer{value: s, write: func(out io.Writer) error { return writeParts(out, parts) }}
}

// withTable adds a table of things, if there are any.
func withTable[T any](parts []answer, v view[T], things []T) []answer {
	if len(things) == 0 {
		return parts
	}
	return append(parts, v.table(things))
}

// writeParts writes parts with a line between them.
func writeParts(out io.Writer, parts []answer) error {
	for i, part := range parts {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := part.write(out); err != nil {
			return err
		}
	}
	return nil
}

var statusView = view[holdfast.TenantMigrationStatus]{
	{"MIGRATION", func(s holdfast.TenantMigrationStatus) string { return s.Migration.MigrationID }},
	{"TENANT", func(s holdfast.TenantMigrationStatus) string { return s.Migration.TenantID }},
	{"KIND", func(s holdfast.TenantMigrationStatus) string { return s.Migration.Kind }},
	{"STATE", func(s holdfast.TenantMigrationStatus) string { return s.Migration.State }},
	{"COLLECTIONS", func(s holdfast.TenantMigrationStatus) string { return coveredBy(s.Migration.Collections) }},
	{"PLAN", func(s holdfast.TenantMigrationStatus) string { return orDash(deref(s.Migration.PlanHash)) }},
	{"CAPS", func(s holdfast.TenantMigrationStatus) string { return capsOf(s.Migration.Caps) }},
	{"MOVED", movedInAll},
	{"DEFERRED", func(s holdfast.TenantMigrationStatus) string { return counted(s.Progress.Deferred, "section") }},
	{"LAST 5 MINUTES", func(s holdfast.TenantMigrationStatus) string { return paceOf(s.Progress.Pace5Minutes) }},
	{"LAST 60 MINUTES", func(s holdfast.TenantMigrationStatus) string { return paceOf(s.Progress.Pace60Minutes) }},
	{"TIME LEFT", func(s holdfast.TenantMigrationStatus) string { return leftOf(s.Progress.RemainingSeconds) }},
	{"WHY HELD OR SLOW", func(s holdfast.TenantMigrationStatus) string { return orDash(reasonsOf(s.Progress.Reasons)) }},
	{"NEXT BY ITSELF", func(s holdfast.TenantMigrationStatus) string { return s.Progress.Next.Text }},
	{"STOPPED", func(s holdfast.TenantMigrationStatus) string { return stopOf(s.Migration.Stop) }},
	{"NEXT STEP", func(s holdfast.TenantMigrationStatus) string { return nextStepOf(s.Migration) }},
}

// movedInAll is how much was moved, where anything is known of that.
func movedInAll(s holdfast.TenantMigrationStatus) string {
	if !isActivated(s.Migration) {
		return "nothing: it isn't activated, and only its plan has counts (holdfast migration plan)"
	}
	return fmt.Sprintf("%s, %s of %s", movedOf(s), counted(s.Progress.Total.Bodies, "body"), sized(s.Progress.Total.Bytes))
}

// stopOf says why a migration is stopped, and at which record.
func stopOf(stop *holdfast.MigrationStop) string {
	if stop == nil {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%s)%s", stop.Detail, stop.Category, placeOf(deref(stop.Collection), deref(stop.Key), deref(stop.Section))))
}

// nextStepOf is the next step that is safe behind a stop, with the command that
// shows what differs where that is why.
func nextStepOf(m holdfast.Migration) string {
	switch stop := m.Stop; {
	case stop == nil:
		return "-"
	case stop.Category == "build_differs":
		return fmt.Sprintf("%s (holdfast migration drift %s %s)", stop.NextStep, m.TenantID, m.MigrationID)
	default:
		return stop.NextStep
	}
}

// placeOf names what something is about, with a space in front; "" for nothing.
func placeOf(collection, key, section string) string {
	var place strings.Builder
	for _, of := range []struct{ what, name string }{{"collection", collection}, {"record", key}, {"section", section}} {
		if of.name == "" {
			continue
		}
		if place.Len() > 0 {
			place.WriteByte(',')
		}
		fmt.Fprintf(&place, " %s %q", of.what, of.name) // a tenant's own text
	}
	return place.String()
}

var collectionView = view[holdfast.MigrationCollection]{
	{"COLLECTION", func(c holdfast.MigrationCollection) string { return c.Collection }},
	{"MOVED", func(c holdfast.MigrationCollection) string { return fmt.Sprint(c.Moved.Records) }},
	{"LEFT", func(c holdfast.MigrationCollection) string { return atLeast(c.Left) + fmt.Sprint(c.Left.Records) }},
	{"DEFERRED", func(c holdfast.MigrationCollection) string { return fmt.Sprint(c.Deferred) }},
	{"SWEEP", func(c holdfast.MigrationCollection) string { return fmt.Sprint(c.Sweep) }},
	{"FRONTIER", func(c holdfast.MigrationCollection) string { return fmt.Sprint(c.Frontier) }},
	{"HELD", func(c holdfast.MigrationCollection) string { return yesNo(c.Held) }},
	{"BUILD", func(c holdfast.MigrationCollection) string { return c.Build }},
	{"LAST PASS", func(c holdfast.MigrationCollection) string { return when(c.MovedAt) }},
	{"DRAINED", func(c holdfast.MigrationCollection) string { return whenever(c.DrainedAt) }},
	{"CLOSED", func(c holdfast.MigrationCollection) string { return whenever(c.ClosedAt) }},
}

var runView = view[holdfast.MigrationRun]{
	{"RUN", func(r holdfast.MigrationRun) string { return r.RunID }},
	{"BUILD", func(r holdfast.MigrationRun) string { return r.Build }},
	{"ASKED BY", func(r holdfast.MigrationRun) string { return r.AskedBy }},
	{"STARTED", func(r holdfast.MigrationRun) string { return when(r.StartedAt) }},
	{"DEADLINE", func(r holdfast.MigrationRun) string { return when(r.Deadline) }},
	{"PASSES", func(r holdfast.MigrationRun) string { return fmt.Sprint(r.Passes) }},
	{"WORKED AT", func(r holdfast.MigrationRun) string { return whenever(r.WorkedAt) }},
	{"ENDED", func(r holdfast.MigrationRun) string { return whenever(r.EndedAt) }},
	{"OUTCOME", func(r holdfast.MigrationRun) string { return orDash(deref(r.Outcome)) }},
}

var transitionView = view[holdfast.MigrationTransition]{
	{"REVISION", func(t holdfast.MigrationTransition) string { return fmt.Sprint(t.Revision) }},
	{"ACT", func(t holdfast.MigrationTransition) string { return t.Act }},
	{"FROM", func(t holdfast.MigrationTransition) string { return orDash(deref(t.FromState)) }},
	{"TO", func(t holdfast.MigrationTransition) string { return t.ToState }},
	{"BY", func(t holdfast.MigrationTransition) string { return t.Actor.Name }},
	{"AT", func(t holdfast.MigrationTransition) string { return when(t.At) }},
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
