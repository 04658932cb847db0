package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newLeaseShow(r *remote) *cobra.Command {
	var position int64
	command := &cobra.Command{
		Use:   "show TENANT WORLD",
		Short: "Show who may write to a world now, or might at a position",
		Long: "Show who may write to a world now, until when, and what a revocation has to name: the epoch and\n" +
			"the renewed position. A lease whose time is over is ended first, so it is never shown.\n\n" +
			"With --position: who had the lease at that position of the journal, and the entry that made it so,\n" +
			"which --json gives whole. It takes the scope operator:read.",
		Args: arguments("TENANT", "WORLD"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		if !command.Flags().Changed("position") {
			shown, err := api.GetTenantLeaseWithResponse(ctx, args[0], args[1], nil)
			if err != nil {
				return answer{}, err
			}
			return leaseView.one(*shown.JSON200), nil
		}
		shown, err := api.GetTenantLeaseWithResponse(ctx, args[0], args[1], &holdfast.GetTenantLeaseParams{Position: &position})
		if err != nil {
			return answer{}, err
		}
		proven := provenLeaseView.one(*shown.JSON200)
		proven.value = json.RawMessage(shown.Body) // a proof's hash is of its letters, its time's zeros among them
		return proven, nil
	})
	command.Flags().Int64Var(&position, "position", 0, "a position of the journal, from 1")
	return command
}
