package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// noReturn says what an activation can't take back, before it is made. The API's
// answer says it afterwards.
const noReturn = "THIS IS THE POINT OF NO RETURN. From then on the collections write their bodies to the object store, a\n" +
	"process that knows format 1 alone is refused for every tenant, and the migration can't be aborted. Bodies\n" +
	"that are in the database stay readable there until a run has moved them. The only way back is a migration\n" +
	"of its own: holdfast migration rehydrate."

const noReturnBack = "THIS IS THE POINT OF NO RETURN. From then on the collections write their bodies to the databases, and the\n" +
	"migration can't be aborted. Bodies that are in the object store stay readable there until a run has brought\n" +
	"them back, and processes must know format 2 as before."

func newMigrationActivate(r *remote) *cobra.Command {
	return act{
		use:     "activate",
		short:   "Activate an approved plan, for good: the point of no return",
		states:  []string{"approved", "activating", "active"},
		named:   true,
		told:    true,
		current: true,
		obstacle: func(t target) string {
			if t.Migration.State == "active" {
				return "" // what is done isn't held against anything
			}
			return cmp.Or(refusedByDrift(t), baselineMissing(t))
		},
		long: noReturn + "\n\n" +
			"It uses the approval up. It goes collection by collection, each in one transaction, and may take two\n" +
			"minutes; after an error that leaves the outcome open, repeating it finishes what was begun.\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			if t.Migration.State == "active" {
				return "It is activated already. That would be answered again, and nothing changed.", nil
			}
			words := noReturn
			if t.Migration.Kind == string(holdfast.NewTenantMigrationRehydrate) {
				words = noReturnBack
			}
			return fmt.Sprintf("It is about the collections %s, by the plan %s.\n%s", coveredBy(t.Migration.Collections), orDash(t.hash), words), nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			activated, err := api.ActivateMigrationWithResponse(ctx, t.tenant, t.id, holdfast.NamedPlan{PlanHash: t.hash})
			if err != nil {
				return answer{}, err
			}
			return showActivation(*activated.JSON200), nil
		},
	}.command(r)
}

var acceptedView = view[holdfast.AcceptedCollection]{
	{"COLLECTION", func(c holdfast.AcceptedCollection) string { return c.Collection }},
	{"FRONTIER", func(c holdfast.AcceptedCollection) string { return fmt.Sprint(c.Frontier) }},
	{"ACCEPTED", func(c holdfast.AcceptedCollection) string { return when(c.At) }},
}

func showActivation(a holdfast.MigrationActivation) answer {
	parts := withTable([]answer{migrationView.one(a.Migration)}, acceptedView, a.Collections)
	parts = append(parts, said(a.PointOfNoReturn))
	return answer{value: a, write: func(out io.Writer) error { return writeParts(out, parts) }}
}
