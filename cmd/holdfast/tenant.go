package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var tenantView = view[holdfast.Tenant]{
	{"ID", func(t holdfast.Tenant) string { return t.ID }},
	{"NAME", func(t holdfast.Tenant) string { return t.Name }},
	{"STATE", func(t holdfast.Tenant) string { return t.State }},
	{"HANDLES", func(t holdfast.Tenant) string { return t.HandlePolicy }},
	{"NAMESPACE", func(t holdfast.Tenant) string { return t.IdentityState }},
	{"FORMAT", func(t holdfast.Tenant) string { return fmt.Sprint(t.RecordFormat) }},
	{"LEGAL HOLD", func(t holdfast.Tenant) string { return holdOf(t) }},
	{"CREATED", func(t holdfast.Tenant) string { return when(t.CreatedAt) }},
}

func newTenant(r *remote) *cobra.Command {
	return r.noun("tenant", "Make, show, suspend, resume, export and delete tenants, say where they keep records, and what they may have",
		newTenantCreate(r), newTenantList(r), newTenantShow(r), newTenantSuspend(r), newTenantResume(r), newTenantStorage(r),
		newTenantRename(r), newTenantDelete(r), newTenantDeletion(r), newTenantHold(r), newTenantExport(r),
		newTenantLimits(r), newTenantUsage(r))
}

func newTenantCreate(r *remote) *cobra.Command {
	policy := oneOf{string(holdfast.ASCII), []string{string(holdfast.ASCII), string(holdfast.Unicode)}}
	var importing bool
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a tenant",
		Args:  arguments("NAME"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			want := holdfast.NewTenant{Name: args[0], HandlePolicy: (*holdfast.NewTenantHandlePolicy)(&policy.value)}
			if importing {
				want.IdentityState = new(holdfast.IdentityStateImporting)
			}
			made, err := api.CreateTenantWithResponse(ctx, nil, want)
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*made.JSON201), nil
		}),
	}
	command.Flags().Var(&policy, "handle-policy", "which handles are allowed; it never changes")
	command.Flags().BoolVar(&importing, "importing", false, "take only imports until the namespace is opened")
	return command
}

func newTenantList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tenants",
		Args:  arguments(),
		RunE: r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.Tenant, *string, error) {
				page, err := api.ListTenantsWithResponse(ctx, &holdfast.ListTenantsParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.Tenants, page.JSON200.NextCursor, nil
			})
			return tenantView.table(all), err
		}),
	}
}

func newTenantShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT",
		Short: "Show a tenant",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			tenant, err := api.GetTenantWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
}

func newTenantSuspend(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "suspend TENANT",
		Short: "Refuse a tenant's calls from now on",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			tenant, err := api.SuspendTenantWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
}

func newTenantResume(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "resume TENANT",
		Short: "Take a suspended tenant's calls again",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			tenant, err := api.ResumeTenantWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
}
