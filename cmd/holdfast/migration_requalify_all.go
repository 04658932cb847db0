package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// withAll gives the command that requalifies one migration the flag that it does all.
func withAll(r *remote, command *cobra.Command) *cobra.Command {
	var all bool
	one, oneArgs := command.RunE, command.Args
	command.Use += " | --all"
	command.Args = func(command *cobra.Command, args []string) error {
		if all {
			return arguments()(command, args)
		}
		return oneArgs(command, args)
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		if !all {
			return one(command, args)
		}
		execute, err := command.Flags().GetBool("execute")
		if err != nil {
			return err
		}
		return r.requalifyAll(command, execute)
	}
	command.Flags().BoolVar(&all, "all", false, "every open migration of every tenant that is paused or stopped, or has an approved envelope")
	command.MarkFlagsMutuallyExclusive("all", approvedEnvelope.flag)
	return command
}

// requalification is what came of one migration among all.
type requalification struct {
	Tenant    string `json:"tenant_id"`
	Name      string `json:"tenant"`
	Migration string `json:"migration_id"`
	State     string `json:"state"`
	Envelope  string `json:"envelope_hash,omitempty"`
	Done      bool   `json:"done"`
	Outcome   string `json:"outcome"`

	failed bool
}

var requalificationView = view[requalification]{
	{"TENANT", func(q requalification) string { return q.Name }},
	{"TENANT ID", func(q requalification) string { return q.Tenant }},
	{"MIGRATION", func(q requalification) string { return q.Migration }},
	{"STATE", func(q requalification) string { return q.State }},
	{"ENVELOPE", func(q requalification) string { return orDash(q.Envelope) }},
	{"OUTCOME", func(q requalification) string { return q.Outcome }},
}

// requalifyAll goes on past a migration that is refused, and says so at the end.
func (r *remote) requalifyAll(command *cobra.Command, execute bool) error {
	var all []requalification
	shown := newProgress(command.ErrOrStderr())
	defer shown.clear()
	ask := r.call(func(ctx context.Context, api caller, _ []string) (_ answer, err error) {
		if api, err = api.patient(); err != nil {
			return answer{}, err
		}
		if all, err = heldMigrations(ctx, api, shown); err != nil {
			return answer{}, err
		}
		for i := range all {
			shown.show("%s%d of %s", bar(int64(i), int64(len(all))), i, counted(len(all), "migration"))
			all[i].apply(ctx, api, execute)
		}
		shown.clear()
		return requalificationView.table(all), nil
	})
	if err := ask(command, nil); err != nil {
		return err
	}
	return concludeAll(all, execute)
}

// heldMigrations are the open migrations of all tenants that are paused or stopped,
// and those that are drained or verified for which an envelope is approved.
func heldMigrations(ctx context.Context, api caller, shown *progress) ([]requalification, error) {
	tenants, err := everything(func(cursor *string) ([]holdfast.Tenant, *string, error) {
		page, err := api.ListTenantsWithResponse(ctx, &holdfast.ListTenantsParams{Limit: new(pageSize), Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		return page.JSON200.Tenants, page.JSON200.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	held := []requalification{}
	for i, tenant := range tenants {
		shown.show("%slooking at tenant %s", bar(int64(i), int64(len(tenants))), tenant.Name)
		migrations, err := migrationsOf(ctx, api, tenant.ID)
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", tenant.Name, err)
		}
		for _, m := range migrations {
			if !slices.Contains(requalifiable, m.State) {
				continue
			}
			status, err := migrationStatus(ctx, api, tenant.ID, m.MigrationID)
			if err != nil {
				return nil, fmt.Errorf("tenant %s: %w", tenant.Name, err)
			}
			envelope := envelopeToApply(status)
			if envelope == "" && m.State != "paused" && m.State != "stopped" {
				continue // it waits for its recheck, or to be closed
			}
			held = append(held, requalification{Tenant: tenant.ID, Name: tenant.Name, Migration: m.MigrationID, State: m.State, Envelope: envelope})
		}
	}
	return held, nil
}

// apply applies the envelope, or says that it would.
func (q *requalification) apply(ctx context.Context, api caller, execute bool) {
	if q.Envelope == "" {
		q.failed, q.Outcome = true, "no envelope is approved for it"
		return
	}
	if !execute {
		q.Outcome = "would be carried over"
		return
	}
	m, err := requalify(ctx, api, q.Tenant, q.Migration, q.Envelope)
	if err != nil {
		q.failed, q.Outcome = true, plain(api.url, err).Error()
		return
	}
	q.Done, q.State, q.Outcome = true, m.State, "carried over to plan "+deref(m.PlanHash)
}

func concludeAll(all []requalification, execute bool) error {
	failed := 0
	for _, q := range all {
		if q.failed {
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case !execute:
		return exitError{code: exitDiffers}
	}
	return fmt.Errorf("not carried over: %d of %s", failed, counted(len(all), "migration"))
}
