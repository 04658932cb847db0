package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var envelopeView = view[holdfast.MigrationEnvelope]{
	{"ENVELOPE", func(e holdfast.MigrationEnvelope) string { return e.EnvelopeHash }},
	{"PREVIOUS PLAN", func(e holdfast.MigrationEnvelope) string { return e.PreviousPlanHash }},
	{"NEXT PLAN", func(e holdfast.MigrationEnvelope) string { return e.NextPlanHash }},
	{"CHECKPOINTS", func(e holdfast.MigrationEnvelope) string { return e.CheckpointsHash }},
	{"COLLECTIONS", func(e holdfast.MigrationEnvelope) string { return strings.Join(e.Collections, ",") }},
}

func envelopeParts(e holdfast.MigrationEnvelope) []answer {
	return []answer{envelopeView.one(e), said("The next plan, which differs in build, rollback floor, qualification and lifecycle observation only:"),
		packetView.one(packet{e.NextPlanHash, e.NextPlan})}
}

func newRequalifyPreview(r *remote) *cobra.Command {
	var qualification, plan string
	command := &cobra.Command{
		Use:   "requalify-preview TENANT MIGRATION",
		Short: "Plan to carry a migration in which no pass commits over to the build that answers",
		Long: "Plan to carry a migration that is paused, stopped, or drained and not yet closed over to the build of\n" +
			"the API that answers, by its qualification. The migration is not changed by it: another operator approves the envelope that comes of\n" +
			"it, by its hash, and holdfast migration requalify applies it.",
		Args: arguments("TENANT", "MIGRATION"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			api, err := api.patient()
			if err != nil {
				return answer{}, err
			}
			if plan == "" {
				t, err := lookAt(ctx, api, args[0], args[1])
				if err != nil {
					return answer{}, err
				}
				plan = t.hash
			}
			made, err := api.PreviewRequalificationWithResponse(ctx, args[0], args[1], holdfast.NewRequalification{PlanHash: plan, Qualification: qualification})
			if err != nil {
				return answer{}, err
			}
			parts := envelopeParts(*made.JSON200)
			return answer{value: *made.JSON200, write: func(out io.Writer) error { return writeParts(out, parts) }}, nil
		}),
	}
	command.Flags().Var(hashFlag{&qualification}, "qualification", "the `hash` of the new build's qualification")
	command.Flags().Var(hashFlag{&plan}, "plan", "the previous plan's `hash`; that of the plan that stands without it")
	demandFlag(command, "qualification")
	return command
}

// approvedEnvelope is what a requalification names.
var approvedEnvelope = &subject{
	flag: "envelope", usage: "the envelope's `hash`", standing: envelopeToApply,
	missing: "no envelope is approved for the migration: holdfast migration requalify-preview makes one, and another operator approves it",
}

// envelopeToApply is the envelope whose application was interrupted, or that was
// approved for the state that the migration has; "" for none.
func envelopeToApply(s holdfast.TenantMigrationStatus) string {
	if s.Migration.EnvelopeHash != nil {
		return *s.Migration.EnvelopeHash
	}
	for i := len(s.Transitions) - 1; i >= 0; i-- {
		t := s.Transitions[i]
		var approved struct{ Purpose, Hash string }
		switch {
		case deref(t.FromState) != t.ToState, strings.HasPrefix(t.Act, "requalif"):
			return "" // what was approved before isn't for this state, or is used up
		case t.Act != "approve", json.Unmarshal(t.Note, &approved) != nil:
		case approved.Purpose == "envelope":
			return approved.Hash
		}
	}
	return ""
}

func newRequalify(r *remote) *cobra.Command {
	command := act{
		use:    "requalify",
		short:  "Carry a migration over to another build, as an approved envelope says",
		states: requalifiable,
		named:  true,
		about:  approvedEnvelope,
		told:   true,
		long: "Collection by collection, and only where nothing has changed since the envelope was made. After an\n" +
			"error that leaves the outcome open, repeating it finishes what was begun. It is for a migration that is\n" +
			"paused or stopped, or drained and not yet closed: one that was verified is to be verified again.\n\n" +
			"With --all, and without TENANT and MIGRATION, it does so for every open migration of every tenant that\n" +
			"is in such a state, each by the envelope that was approved for it. That takes operator:tenants too.\n\n",
		would: func(ctx context.Context, api caller, t target) (string, error) {
			if t.hash == "" {
				return "No envelope is approved for it.", nil
			}
			got, err := api.GetMigrationEnvelopeWithResponse(ctx, t.tenant, t.id, t.hash)
			if err != nil {
				return "", err
			}
			var text strings.Builder
			err = writeParts(&text, envelopeParts(*got.JSON200))
			return text.String() + fmt.Sprintf("\n%s would go by the next plan. No run begins by it.", counted(len(got.JSON200.Collections), "collection")), err
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			m, err := requalify(ctx, api, t.tenant, t.id, t.hash)
			return migrationView.one(m), err
		},
	}.command(r)
	return withAll(r, command)
}

// requalifiable are the states in which no pass commits, so that another build may
// take over.
var requalifiable = []string{"paused", "stopped", "drained", "verified"}

func requalify(ctx context.Context, api caller, tenant, id, envelope string) (holdfast.Migration, error) {
	done, err := api.RequalifyMigrationWithResponse(ctx, tenant, id, holdfast.NamedEnvelope{EnvelopeHash: envelope})
	if err != nil {
		return holdfast.Migration{}, err
	}
	return *done.JSON200, nil
}
