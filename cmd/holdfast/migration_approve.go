package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// approvable is what an approval names: the plan, or an envelope.
var approvable = &subject{
	flag: "hash", usage: "the `hash` of the plan or the envelope", missing: standingPlan.missing, standing: standingPlan.standing,
}

func newMigrationApprove(r *remote) *cobra.Command {
	return act{
		use:   "approve",
		short: "Approve a migration's plan, an envelope, or going on behind a stop",
		statesFor: func(t target) []string {
			if t.hash == deref(t.Migration.PlanHash) {
				return []string{"previewed", "stopped"}
			}
			return requalifiable // for an envelope
		},
		named:    true,
		about:    approvable,
		told:     true,
		current:  true,
		obstacle: refusedByDrift,
		long: "By its hash: of the plan, before it is activated, or while the migration is stopped, to let it go on;\n" +
			"of an envelope that carries a migration over to another build. The approver is another person than\n" +
			"who asked for the migration and who previewed. An approval is for the state that it was given in,\n" +
			"and is used once.\n\n" +
			"It shows what would be approved first, and what has drifted. That takes the scope operator:read, and\n" +
			"approving takes operator:approve.\n\n",
		would: toApprove,
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			approved, err := api.ApproveMigrationWithResponse(ctx, t.tenant, t.id, holdfast.MigrationApproval{Hash: t.hash})
			if err != nil {
				return answer{}, err
			}
			return migrationView.one(*approved.JSON200), nil
		},
	}.command(r)
}

// toApprove shows what the hash is of.
func toApprove(ctx context.Context, api caller, t target) (string, error) {
	if t.hash != deref(t.Migration.PlanHash) {
		return toApproveEnvelope(ctx, api, t)
	}
	plan, err := planOf(ctx, api, t.tenant, t.id, t.hash)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := writeParts(&text, planParts(plan)); err != nil {
		return "", err
	}
	text.WriteByte('\n')
	switch {
	case len(t.drift) > 0:
		fmt.Fprintf(&text, "It has drifted:\n  %s\n", strings.Join(driftLines(t.drift), "\n  "))
	case t.drift != nil:
		text.WriteString("Nothing has drifted: the plan is as it would be made now.\n")
	}
	if stop := t.Migration.Stop; stop != nil {
		fmt.Fprintf(&text, "It stopped for a review: %s\nNext step: %s\nTo be approved: that it goes on, as %s.", stopOf(stop), nextStepOf(t.Migration), stop.FromState)
		return text.String(), nil
	}
	text.WriteString("To be approved: this plan, for one activation.")
	return text.String(), nil
}

func toApproveEnvelope(ctx context.Context, api caller, t target) (string, error) {
	got, err := api.GetMigrationEnvelopeWithResponse(ctx, t.tenant, t.id, t.hash)
	switch {
	case holdfast.IsCode(err, "envelope_not_found"):
		return "", errOtherHash // a plan's that another has taken the place of, say
	case err != nil:
		return "", err
	}
	var text strings.Builder
	if err := writeParts(&text, envelopeParts(*got.JSON200)); err != nil {
		return "", err
	}
	text.WriteString("\nTo be approved: that the migration is carried over to that build, as long as nothing has changed.")
	return text.String(), nil
}
