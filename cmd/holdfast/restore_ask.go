package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// goAheadWithRestore names the processes that are alive by the control database's
// word, whom the act may reach, and asks the question as goAhead does.
func goAheadWithRestore(command *cobra.Command, router *postgres.Router, yes bool, question string) error {
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
	live, err := migration.New(router, store, nil, migration.Options{}).Deployments(command.Context())
	if err != nil {
		return err
	}
	out := command.ErrOrStderr()
	for _, p := range live {
		fmt.Fprintf(out, "Alive: %s %s, build %s, since %s.\n", p.Kind, p.ID, p.Build, p.StartedAt.Format(time.RFC3339))
	}
	if err := goAhead(command, yes, question, "Say --yes to do it all the same"); err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	return nil
}

// tellClosedBefore names the numbers that are closed for another reason than a
// restore: nothing keeps them apart from those that the restore closes.
func tellClosedBefore(command *cobra.Command, router *postgres.Router, databases []*postgres.Database) error {
	states, err := restore.Show(command.Context(), router)
	if err != nil {
		return err
	}
	for i, db := range router.Databases() {
		s := states[i]
		if slices.Contains(databases, db) && !s.UnderWay() && len(s.Closed) > 0 {
			fmt.Fprintf(command.ErrOrStderr(), "%s: the numbers %s are closed already. holdfast restore open opens them with the others: "+
				"close them again then, by holdfast fleet close.\n", db.Name, postgres.FormatNumbers(s.Closed))
		}
	}
	return nil
}
