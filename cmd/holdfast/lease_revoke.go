package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newLeaseRevoke(r *remote) *cobra.Command {
	var want holdfast.LeaseRevocation
	var yes bool
	command := &cobra.Command{
		Use:   "revoke TENANT WORLD",
		Short: "Take a world's lease from the node that has it",
		Long: "Take a world's lease from the node that has it: the coordinator is the writer again, at the next\n" +
			"epoch, and whatever the node still sends is refused. The reason and the operator stay in the\n" +
			"tenant's journal.\n\n" +
			"It looks first, says what it saw, asks on a terminal (elsewhere it demands --yes), and revokes that\n" +
			"lease and no later one. If the lease is renewed or changes hands meanwhile, nothing is revoked. With\n" +
			"--epoch and --renewed-position it revokes what lease show has shown instead, and neither looks nor\n" +
			"asks.\n\n" +
			"It takes the scope operator:tenants, and looking takes operator:read.",
		Args: arguments("TENANT", "WORLD"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		if !command.Flags().Changed("epoch") {
			look, err := lookToRevoke(ctx, api, args[0], args[1])
			if err != nil {
				return answer{}, err
			}
			want.Epoch, want.RenewedPosition = look.Epoch, *look.RenewedPosition
			fmt.Fprintf(command.ErrOrStderr(), "World %s: %s has the lease of epoch %d, renewed at position %d, until %s.\n",
				look.WorldID, holderOf(look.Holder), look.Epoch, *look.RenewedPosition, whenever(look.ExpiresAt))
			if err := goAhead(command, yes, "Revoke it?", "Say --yes to revoke what stands"); err != nil {
				return answer{}, fmt.Errorf("nothing was revoked: %w", err)
			}
		}
		done, err := api.RevokeTenantLeaseWithResponse(ctx, args[0], args[1], want)
		if err != nil {
			return answer{}, leaseChanged(err, args[0], args[1])
		}
		return writerView.one(*done.JSON200), nil
	})
	command.Flags().StringVar(&want.Reason, "reason", "", "why, in plain `words`, at most 200 characters")
	command.Flags().BoolVar(&yes, "yes", false, "don't ask")
	command.Flags().Int64Var(&want.Epoch, "epoch", 0, "the epoch of the lease that was looked at")
	command.Flags().Int64Var(&want.RenewedPosition, "renewed-position", 0, "its renewed position then")
	if err := command.MarkFlagRequired("reason"); err != nil {
		panic(err) // it stands above
	}
	command.MarkFlagsRequiredTogether("epoch", "renewed-position")
	return command
}

// lookToRevoke gives a node's lease, with its renewed position.
func lookToRevoke(ctx context.Context, api caller, tenant, world string) (holdfast.Lease, error) {
	shown, err := api.GetTenantLeaseWithResponse(ctx, tenant, world, nil)
	switch {
	case err != nil:
		return holdfast.Lease{}, err
	case actorOf(shown.JSON200.Holder).IsCoordinator():
		return holdfast.Lease{}, fmt.Errorf("no node has the lease of world %s: the coordinator is the writer, at epoch %d", world, shown.JSON200.Epoch)
	case shown.JSON200.RenewedPosition == nil:
		return holdfast.Lease{}, errors.New("the API doesn't tell when the lease was renewed last, which a revocation has to name")
	}
	return *shown.JSON200, nil
}

// leaseChanged adds to the refusal of a revocation whose look is no longer true what
// to do next. Other errors stay as they are.
func leaseChanged(err error, tenant, world string) error {
	var refused *holdfast.Error
	if !errors.As(err, &refused) || refused.Code != "lease_changed" {
		return err
	}
	var text strings.Builder
	text.WriteString(refusal(refused))
	if refused.Epoch != nil && refused.RenewedPosition != nil {
		fmt.Fprintf(&text, "\nIt is of epoch %d now, renewed at position %d.", *refused.Epoch, *refused.RenewedPosition)
	}
	fmt.Fprintf(&text, " Look again: holdfast lease show %[1]s %[2]s\n"+
		"If it still has to go: holdfast lease revoke %[1]s %[2]s --reason … --yes\n"+
		"looks and revokes at once, so that hardly a renewal comes in between.", tenant, world)
	return errors.New(text.String())
}
