package main

import (
	"context"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newTenantHold(r *remote) *cobra.Command {
	return r.noun("hold", "Set and lift a tenant's legal hold, under which nothing of it is purged",
		newTenantHoldSet(r), newTenantHoldLift(r))
}

func newTenantHoldSet(r *remote) *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use:   "set TENANT --reason TEXT",
		Short: "Keep a tenant from being purged, or stop its purge",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			tenant, err := api.SetLegalHoldWithResponse(ctx, args[0], holdfast.SetLegalHold{Reason: reason})
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
	command.Flags().StringVar(&reason, "reason", "", "why, on one line")
	if err := command.MarkFlagRequired("reason"); err != nil {
		panic(err) // the flag is the line above
	}
	return command
}

func newTenantHoldLift(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "lift TENANT",
		Short: "End a tenant's legal hold: a deletion that waited for it goes on",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			tenant, err := api.LiftLegalHoldWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return tenantView.one(*tenant.JSON200), nil
		}),
	}
}
