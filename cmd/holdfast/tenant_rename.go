package main

import (
	"context"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newTenantRename(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "rename TENANT NAME",
		Short: "Give a tenant another name, which is the operators' word for it",
		Args:  arguments("TENANT", "NAME"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			shown, err := api.GetTenantWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			etag := shown.HTTPResponse.Header.Get("ETag")
			tenant, err := api.PatchTenantWithResponse(ctx, args[0], &holdfast.PatchTenantParams{IfMatch: &etag}, holdfast.TenantPatch{Name: &args[1]})
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
}
