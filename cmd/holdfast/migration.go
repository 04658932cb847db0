package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigration(r *remote) *cobra.Command {
	command := r.noun("migration", "Move a tenant's bodies to the object store, or back: plan, approve, run, verify, close",
		newMigrationRequest(r), newMigrationRehydrate(r), newMigrationList(r), newMigrationShow(r),
		newMigrationPreview(r), newMigrationPlan(r), newMigrationDrift(r), newMigrationApprove(r), newMigrationActivate(r),
		newMigrationRun(r), newMigrationPause(r), newMigrationResume(r), newMigrationAbort(r), newMigrationCaps(r),
		newMigrationDeferred(r), newRequalifyPreview(r), newRequalify(r),
		newMigrationVerify(r), newMigrationScrub(r), newMigrationReport(r), newMigrationClose(r))
	command.Long = command.Short + ".\n\n" +
		"The order is request, preview, verify --phase baseline, approve (by another operator), activate, run\n" +
		"until it is drained, verify --phase recheck, scrub (which reads all, where a recheck reads a sample),\n" +
		"close. Nothing starts by itself, and what changes something takes --execute: without it a command says\n" +
		"what it would do.\n\n" +
		"Looking (list, show, plan, drift, deferred list, report) takes the scope operator:read, approve takes\n" +
		"operator:approve and operator:read, and all else operator:migrate and operator:read."
	return command
}

var migrationView = view[holdfast.Migration]{
	{"ID", func(m holdfast.Migration) string { return m.MigrationID }},
	{"TENANT", func(m holdfast.Migration) string { return m.TenantID }},
	{"KIND", func(m holdfast.Migration) string { return m.Kind }},
	{"STATE", func(m holdfast.Migration) string { return m.State }},
	{"COLLECTIONS", func(m holdfast.Migration) string { return coveredBy(m.Collections) }},
	{"PLAN", func(m holdfast.Migration) string { return orDash(deref(m.PlanHash)) }},
	{"REQUESTED BY", func(m holdfast.Migration) string { return m.RequestedBy.Name }},
	{"REQUESTED", func(m holdfast.Migration) string { return when(m.RequestedAt) }},
	{"CHANGED", func(m holdfast.Migration) string { return when(m.ChangedAt) }},
}

// coveredBy names collections; none stand for all.
func coveredBy(collections *[]holdfast.CollectionName) string {
	if collections == nil {
		return "all"
	}
	return strings.Join(*collections, ",")
}

func newMigrationList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list TENANT",
		Short: "List a tenant's migrations",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := migrationsOf(ctx, api, args[0])
			return migrationView.table(all), err
		}),
	}
}

func migrationsOf(ctx context.Context, api caller, tenant string) ([]holdfast.Migration, error) {
	return everything(func(cursor *string) ([]holdfast.Migration, *string, error) {
		page, err := api.ListTenantMigrationsWithResponse(ctx, tenant, &holdfast.ListTenantMigrationsParams{Limit: new(pageSize), Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		return page.JSON200.Migrations, page.JSON200.NextCursor, nil
	})
}

func migrationStatus(ctx context.Context, api caller, tenant, id string) (holdfast.TenantMigrationStatus, error) {
	shown, err := api.GetTenantMigrationWithResponse(ctx, tenant, id)
	if err != nil {
		return holdfast.TenantMigrationStatus{}, err
	}
	return *shown.JSON200, nil
}

// longestAct is a little more than what the API allows to what counts a tenant's
// records or goes through all of its collections.
const longestAct = 3 * time.Minute

// patient is a caller that waits for the longest acts.
func (c caller) patient() (_ caller, err error) {
	c.ClientWithResponses, err = holdfast.Connect(c.url, c.key, holdfast.WithHTTPDoer(&http.Client{Timeout: longestAct}))
	return c, err
}

// deref is what an optional member holds, and the zero value without it.
func deref[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
