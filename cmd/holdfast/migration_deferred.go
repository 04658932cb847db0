package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationDeferred(r *remote) *cobra.Command {
	return r.noun("deferred", "List the sections that could not be moved, and have one tried again",
		newDeferredList(r), newDeferredRetry(r))
}

var deferredView = view[holdfast.DeferredSection]{
	{"ID", func(d holdfast.DeferredSection) string { return d.DeferredID }},
	{"COLLECTION", func(d holdfast.DeferredSection) string { return d.Collection }},
	{"RECORD", func(d holdfast.DeferredSection) string { return fmt.Sprintf("%q", d.Key) }}, // a tenant's own text
	{"SECTION", func(d holdfast.DeferredSection) string { return d.Section }},
	{"REASON", func(d holdfast.DeferredSection) string { return d.Reason }},
	{"ATTEMPTS", func(d holdfast.DeferredSection) string { return fmt.Sprint(d.Attempts) }},
	{"LAST", func(d holdfast.DeferredSection) string { return when(d.LastAt) }},
	{"TRIED AGAIN", func(d holdfast.DeferredSection) string { return yesNo(d.Retry) }},
	{"NEXT STEP", func(d holdfast.DeferredSection) string { return d.NextStep }},
}

func newDeferredList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list TENANT MIGRATION",
		Short: "List the sections that could not be moved",
		Long: "List the sections that could not be moved. Each stays where it is, and in the list, until a retry\n" +
			"moves it or its record is published anew. The exit code is 3 when there are any.",
		Args: arguments("TENANT", "MIGRATION"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := deferredOf(ctx, api, args[0], args[1])
			told := deferredView.table(all)
			told.differs = len(all) > 0
			return told, err
		}),
	}
}

func deferredOf(ctx context.Context, api caller, tenant, id string) ([]holdfast.DeferredSection, error) {
	listed, err := api.ListDeferredWithResponse(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	return listed.JSON200.Deferred, nil
}

func newDeferredRetry(r *remote) *cobra.Command {
	var execute bool
	command := &cobra.Command{
		Use:   "retry TENANT MIGRATION DEFERRED",
		Short: "Have a section tried again by the next sweep of a run",
		Long: "Have a section tried again by the next sweep of a run. No run begins by it.\n\n" +
			"Without --execute it says what it would do, and changes nothing.",
		Args: arguments("TENANT", "MIGRATION", "DEFERRED"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		if !execute {
			return rehearseRetry(ctx, command, api, args)
		}
		retried, err := api.RetryDeferredWithResponse(ctx, args[0], args[1], args[2])
		if err != nil {
			return answer{}, err
		}
		return deferredView.one(*retried.JSON200), nil
	})
	command.Flags().BoolVar(&execute, "execute", false, "do it; without it nothing is changed")
	return command
}

func rehearseRetry(ctx context.Context, command *cobra.Command, api caller, args []string) (answer, error) {
	t, err := lookAt(ctx, api, args[0], args[1])
	if err != nil {
		return answer{}, err
	}
	all, err := deferredOf(ctx, api, args[0], args[1])
	if err != nil {
		return answer{}, err
	}
	for _, d := range all {
		if d.DeferredID != args[2] {
			continue
		}
		told := rehearsal{State: t.Migration.State, Allowed: true, Command: executing(command, ""),
			Would: fmt.Sprintf("The next sweep of a run would try it again:%s, deferred for %s after %s.\nFor it to succeed: %s",
				placeOf(d.Collection, d.Key, d.Section), d.Reason, counted(d.Attempts, "attempt"), d.NextStep)}
		return answer{value: told, write: func(out io.Writer) error { return told.write(out, t.headline()) }}, nil
	}
	return answer{}, fmt.Errorf("the migration has no deferred section of the id %s: it may have been moved, or published anew", args[2])
}
