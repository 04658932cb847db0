package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var deletionView = view[holdfast.TenantDeletion]{
	{"TENANT", func(d holdfast.TenantDeletion) string { return d.Tenant.Name + " (" + d.Tenant.ID + ")" }},
	{"STATE", func(d holdfast.TenantDeletion) string { return d.Tenant.State }},
	{"LEGAL HOLD", func(d holdfast.TenantDeletion) string { return holdOf(d.Tenant) }},
	{"ASKED FOR", func(d holdfast.TenantDeletion) string { return d.AskedBy + ", " + when(d.AskedAt) }},
	{"APPROVED", func(d holdfast.TenantDeletion) string {
		if d.ApprovedBy == nil {
			return "-"
		}
		return *d.ApprovedBy + ", " + whenever(d.ApprovedAt)
	}},
	{"PURGE AFTER", func(d holdfast.TenantDeletion) string { return whenever(d.PurgeAfter) }},
	{"PURGE", func(d holdfast.TenantDeletion) string { return purgeOf(d.Purge) }},
	{"DELETED", func(d holdfast.TenantDeletion) string { return deletedBy(d.Purge) }},
}

func holdOf(t holdfast.Tenant) string {
	if t.LegalHold == nil {
		return "-"
	}
	return fmt.Sprintf("%s, %s: %s", t.LegalHold.SetBy, when(t.LegalHold.SetAt), t.LegalHold.Reason)
}

// purgeOf says where a purge is.
func purgeOf(p *holdfast.TenantPurge) string {
	switch {
	case p == nil:
		return "-"
	case p.PurgedAt != nil:
		return "done, " + when(*p.PurgedAt)
	case p.Stalled != nil:
		return fmt.Sprintf("at the step %s, stalled for %s", p.Step, *p.Stalled)
	case p.Step == "wait":
		return "waits until " + whenever(p.SettledAt)
	default:
		return fmt.Sprintf("at the step %s, last one %s", p.Step, when(p.SteppedAt))
	}
}

// deletedBy sums up what a purge has deleted. Rows of the data databases are told at
// its end.
func deletedBy(p *holdfast.TenantPurge) string {
	if p == nil {
		return "-"
	}
	told := []string{fmt.Sprintf("%d objects of %d bytes", p.Objects, p.ObjectBytes), fmt.Sprintf("%d jobs", p.Jobs)}
	all := maps.Clone(p.ControlRows)
	if p.Rows != nil {
		maps.Copy(all, *p.Rows)
	}
	for _, table := range slices.Sorted(maps.Keys(all)) {
		told = append(told, fmt.Sprintf("%d %s", all[table], table))
	}
	return strings.Join(told, ", ")
}

func newTenantDelete(r *remote) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "delete TENANT",
		Short: "Ask for a tenant's deletion, which another operator approves",
		Long: "Ask for a tenant's deletion. Nothing happens until another operator approves it (tenant deletion\n" +
			"approve). Then the tenant's calls are refused, and after 7 days everything that it has is deleted\n" +
			"for good. Until then it can be called off (tenant deletion cancel), and what the tenant has can be\n" +
			"exported (tenant export).\n\n" +
			"It asks first on a terminal, and elsewhere demands --yes.",
		Args: arguments("TENANT"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		shown, err := api.GetTenantWithResponse(ctx, args[0])
		if err != nil {
			return answer{}, err
		}
		question := fmt.Sprintf("Ask for the deletion of tenant %s, which is %s?", shown.JSON200.Name, shown.JSON200.State)
		if err := goAhead(command, yes, question, "Say --yes to ask for it all the same"); err != nil {
			return answer{}, fmt.Errorf("nothing was asked for: %w", err)
		}
		etag := shown.HTTPResponse.Header.Get("ETag")
		asked, err := api.DeleteTenantWithResponse(ctx, args[0], &holdfast.DeleteTenantParams{IfMatch: &etag})
		if err != nil {
			return answer{}, err
		}
		return deletionView.one(*asked.JSON202), nil
	})
	command.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return command
}

func newTenantDeletion(r *remote) *cobra.Command {
	return r.noun("deletion", "See how far a tenant's deletion is, approve it, call it off",
		newTenantDeletionShow(r), newTenantDeletionApprove(r), newTenantDeletionCancel(r))
}

func newTenantDeletionShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT",
		Short: "See how far a tenant's deletion is, and what a purged one left behind",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			deletion, err := api.GetTenantDeletionWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return deletionView.one(*deletion.JSON200), nil
		}),
	}
}

func newTenantDeletionApprove(r *remote) *cobra.Command {
	var yes bool
	command := &cobra.Command{
		Use:   "approve TENANT",
		Short: "Approve a deletion that another operator asked for",
		Long: "Approve a deletion that another operator asked for. The tenant's calls are refused from now on, on\n" +
			"every process, and in 7 days everything that it has is deleted for good.\n\n" +
			"It shows the deletion, which takes the scope operator:read, and asks on a terminal; elsewhere it\n" +
			"demands --yes. Approving takes operator:approve. What was asked for more than 30 days ago, or by an\n" +
			"operator who has been disabled, is called off and asked for again.",
		Args: arguments("TENANT"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		shown, err := api.GetTenantDeletionWithResponse(ctx, args[0])
		if err != nil {
			return answer{}, err
		}
		if err := deletionView.one(*shown.JSON200).write(command.ErrOrStderr()); err != nil {
			return answer{}, err
		}
		question := fmt.Sprintf("Refuse the calls of tenant %s from now on, and delete all that it has in 7 days?", shown.JSON200.Tenant.Name)
		if err := goAhead(command, yes, question, "Say --yes to approve it all the same"); err != nil {
			return answer{}, fmt.Errorf("nothing was approved: %w", err)
		}
		etag := shown.HTTPResponse.Header.Get("ETag") // of what was looked at, and of nothing later
		approved, err := api.ApproveTenantDeletionWithResponse(ctx, args[0], &holdfast.ApproveTenantDeletionParams{IfMatch: &etag})
		if err != nil {
			return answer{}, err
		}
		return deletionView.one(*approved.JSON200), nil
	})
	command.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return command
}

func newTenantDeletionCancel(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel TENANT",
		Short: "Call a deletion off, for as long as the purge hasn't begun",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			tenant, err := api.CancelTenantDeletionWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
}
