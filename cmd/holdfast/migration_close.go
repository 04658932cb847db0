package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationClose(r *remote) *cobra.Command {
	var decision string
	command := act{
		use:    "close",
		short:  "Close a verified migration, by a decision that is kept",
		states: []string{"verified", "closed"},
		named:  true,
		told:   true,
		long: "From then on the covered collections are read where the plan has put their bodies, and nowhere else.\n" +
			"After an error that leaves the outcome open, repeating it finishes what was begun.\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			if strings.TrimSpace(decision) == "" {
				return "", errNoDecision
			}
			if t.Migration.State == "closed" {
				return closedBefore(t), nil
			}
			would := fmt.Sprintf("It would be closed for good, by the decision %q.", decision)
			if len(t.Progress.Collections) == 0 {
				return would, nil
			}
			names := make([]string, 0, len(t.Progress.Collections))
			for _, c := range t.Progress.Collections {
				names = append(names, c.Collection)
			}
			return fmt.Sprintf("%s\nFrom then on its bodies are read where the plan has put them, and nowhere else: those of %s (%s).",
				would, counted(len(names), "collection"), strings.Join(names, ", ")), nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			closed, err := api.CloseMigrationWithResponse(ctx, t.tenant, t.id, holdfast.CloseMigration{PlanHash: t.hash, Decision: decision})
			if err != nil {
				return answer{}, err
			}
			told := migrationView.one(*closed.JSON200)
			if t.Migration.State == "closed" {
				parts := []answer{told, said(closedBefore(t))}
				told.write = func(out io.Writer) error { return writeParts(out, parts) }
			}
			return told, nil
		},
	}.command(r)
	command.Flags().StringVar(&decision, "decision", "", "why it may be closed, in plain `words`, for the record")
	demandFlag(command, "decision")
	return command
}

var errNoDecision = exitError{exitUsage, errors.New("--decision takes why it may be closed, in 1 to 1,000 characters: it is kept")}

// closedBefore says of a migration that is closed who did it, and by which decision.
func closedBefore(t target) string {
	for _, done := range slices.Backward(t.Transitions) {
		var note struct{ Decision string }
		if done.Act == "close" && json.Unmarshal(done.Note, &note) == nil {
			return fmt.Sprintf("It was closed already, by %s at %s, by the decision %q. That stands, and no other is kept.",
				done.Actor.Name, when(done.At), note.Decision)
		}
	}
	return "It was closed already. The decision of then stands, and no other is kept."
}
