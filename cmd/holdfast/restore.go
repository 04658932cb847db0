package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

func newRestore(r *remote) *cobra.Command {
	command := r.noun("restore", "Put the databases in step again after one of them was restored",
		newRestoreShow(r), newRestoreClose(r), newRestoreReconcile(r), newRestoreOpen(r))
	command.Long = "Put the databases in step again after one of them was restored to an earlier time than the others:\n\n" +
		"  holdfast restore close data2      # before any process may reach it\n" +
		"  holdfast restore reconcile        # until nothing is left to decide\n" +
		"  holdfast restore open data2\n\n" +
		"Until it is opened, what stands in its numbers is refused, and callers are told to try again. The other\n" +
		"databases serve. These commands connect as the role holdfast_owner, directly and through no pooler."
	return command
}

func newRestoreShow(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show which databases are closed for a restore",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			return asOwner(ctx, r.environ, func(_ config.Config, router *postgres.Router) error {
				if err := postgres.CheckSchema(ctx, router); err != nil {
					return err
				}
				states, err := restore.Show(ctx, router)
				if err != nil {
					return err
				}
				return writeStates(command.OutOrStdout(), r.asJSON, states)
			})
		},
	}
}

// shownState is a database's state as a script reads it.
type shownState struct {
	restore.State
	Word   string `json:"state"`
	Open   []int  `json:"open"`
	Closed []int  `json:"closed"`
}

func shown(s restore.State) shownState {
	all := shownState{State: s, Word: s.Word(), Open: []int{}, Closed: []int{}}
	for _, n := range s.Open {
		all.Open = append(all.Open, int(n))
	}
	for _, n := range s.Closed {
		all.Closed = append(all.Closed, int(n))
	}
	return all
}

func writeStates(out io.Writer, asJSON bool, states []restore.State) error {
	if asJSON {
		all := make([]shownState, len(states))
		for i, s := range states {
			all[i] = shown(s)
		}
		return json.NewEncoder(out).Encode(all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DATABASE\tSTATE\tOPEN\tCLOSED\tRESTORE\tCLOSED AT\tRECONCILED AT\tOPENED AT")
	for _, s := range states {
		id, closed := "-", "-"
		if !s.ID.IsZero() {
			id, closed = s.ID.String(), s.ClosedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Database, s.Word(), numbersOrDash(s.Open), numbersOrDash(s.Closed),
			id, closed, timeOrDash(s.ReconciledAt), timeOrDash(s.OpenedAt))
	}
	return table.Flush()
}

func numbersOrDash[N ~uint8](numbers []N) string {
	if len(numbers) == 0 {
		return "-"
	}
	return postgres.FormatNumbers(numbers)
}

func timeOrDash(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// named gives the data databases of these names.
func named(router *postgres.Router, names []string) (databases []*postgres.Database, err error) {
	for _, name := range names {
		db := router.Named(name)
		if db == nil {
			return nil, exitError{exitUsage, fmt.Errorf("HOLDFAST_DATA_URLS has no database %q", name)}
		}
		databases = append(databases, db)
	}
	return databases, nil
}
