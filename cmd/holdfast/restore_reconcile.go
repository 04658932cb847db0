package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func newRestoreReconcile(r *remote) *cobra.Command {
	var keep []string
	var control, yes bool
	command := &cobra.Command{
		Use:   "reconcile",
		Short: "Put the databases that are closed for a restore in step with the others",
		Long: "Put the databases that are closed for a restore in step with the others: claims are rebuilt from records,\n" +
			"every world gets a new epoch, and streams go on where nobody has read yet.\n\n" +
			"A key that two accounts have is told, and has to be decided: --keep names the account that keeps it. The\n" +
			"exit code is 3 then, and the databases stay closed. The command may be repeated, and is when it was\n" +
			"interrupted; what is done it finds done.\n\n" +
			"With --control it names the processes that are alive, which have to be stopped, and asks on a terminal;\n" +
			"elsewhere it demands --yes.\n\n" +
			"With --json it prints an object a line: each decision and note as it comes, each tenant when it is done,\n" +
			"and the outcome.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			req := restore.Request{Control: control, Keep: map[domain.RecordID]bool{}}
			for _, text := range keep {
				id, err := domain.ParseID[domain.RecordKind](text)
				if err != nil {
					return exitError{exitUsage, fmt.Errorf("--keep %s: %w", text, err)}
				}
				req.Keep[id] = true
			}
			return asOwner(ctx, r.environ, func(_ config.Config, router *postgres.Router) error {
				if err := postgres.CheckSchema(ctx, router); err != nil {
					return err
				}
				if control {
					const question = "Put the tenants of the control database back to where the gates say that they were?"
					if err := goAheadWithRestore(command, router, yes, question); err != nil {
						return err
					}
				}
				keys, err := checkpointKeys(ctx, tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now))
				if err != nil {
					return err
				}
				l := &reconcileListener{out: command.OutOrStdout(), asJSON: r.asJSON, progress: newProgress(command.ErrOrStderr())}
				defer l.progress.clear()
				var done restore.Outcome
				subjects := actSubjects{"control": strconv.FormatBool(control), "keep": strings.Join(keep, " ")}
				err = audited(ctx, router, "restore.reconcile", subjects, func() (err error) {
					done, err = restore.New(router, keys).Reconcile(ctx, req, l)
					return err
				})
				if errors.Is(err, restore.ErrNothing) || errors.Is(err, restore.ErrNotClosed) {
					return exitError{exitDiffers, err}
				}
				if err != nil {
					return err
				}
				return l.conclude(done)
			})
		},
	}
	command.Flags().StringArrayVar(&keep, "keep", nil, "the account that keeps a key which another one has too (may be repeated)")
	command.Flags().BoolVar(&control, "control", false, "the control database was restored too, or alone")
	command.Flags().BoolVar(&yes, "yes", false, "don't ask, with --control")
	return command
}

// reconcileListener shows a reconciliation.
type reconcileListener struct {
	out      io.Writer
	asJSON   bool
	progress *progress
	tenants  []restore.Tenant
}

func (l *reconcileListener) Progress(text string) { l.progress.show("%s", text) }

func (l *reconcileListener) Decide(d restore.Decision) error {
	if l.asJSON {
		return l.line("decision", d)
	}
	l.progress.clear()
	fmt.Fprintf(l.out, "\n%s: to decide: %s\n  %s\n", d.Name, d.Kind, d.Detail)
	if d.Key == nil {
		return nil
	}
	fmt.Fprintf(l.out, "  claimed in %s\n", d.Key.Bucket())
	for _, c := range d.Key.Records {
		claimed, restored := "", ""
		if c.Claimed {
			claimed = ", the key leads to it now"
		}
		if c.Restored {
			restored = " (restored)"
		}
		fmt.Fprintf(l.out, "  --keep %s  %s, %s, on %s%s, made %s, changed %s%s\n", c.Record, c.Family, c.Status, c.Database, restored,
			c.CreatedAt.Format(time.RFC3339), c.UpdatedAt.Format(time.RFC3339), claimed)
	}
	return nil
}

func (l *reconcileListener) Note(n restore.Note) error {
	if l.asJSON {
		return l.line("note", n)
	}
	l.progress.clear()
	who := n.Name
	if who == "" && !n.Tenant.IsZero() {
		who = n.Tenant.String()
	}
	if who != "" {
		who += ": "
	}
	if n.Moved != nil {
		who += "collection " + n.Moved.Collection + ": "
	}
	_, err := fmt.Fprintf(l.out, "\n%s%s\n", who, n.Detail)
	return err
}

func (l *reconcileListener) Tenant(t restore.Tenant) error {
	if l.asJSON {
		return l.line("tenant", t)
	}
	l.tenants = append(l.tenants, t)
	return nil
}

func (l *reconcileListener) line(what string, value any) error {
	return json.NewEncoder(l.out).Encode(map[string]any{what: value})
}

// conclude shows what was done, and gives the command's exit code.
func (l *reconcileListener) conclude(done restore.Outcome) error {
	l.progress.clear()
	if l.asJSON {
		if err := l.line("outcome", done); err != nil {
			return err
		}
	} else if err := l.table(done); err != nil {
		return err
	}
	if done.Decisions > 0 {
		return exitError{code: exitDiffers}
	}
	return nil
}

func (l *reconcileListener) table(done restore.Outcome) error {
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TENANT\tOPERATIONS\tCLAIMS REMOVED\tCLAIMS MADE\tKEYS RESOLVED\tKEYS OPEN\tDEVICES REVOKED\tLINKS MADE\tRECORDS\tWORLDS\tCOLLECTIONS\tMIGRATIONS STOPPED")
	for _, t := range l.tenants {
		i := t.Identity
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", t.Name, i.Operations, i.ClaimsRemoved, i.ClaimsMade, i.Resolved, i.Doubles,
			i.DevicesRevoked, i.LinksMade, i.Records, t.Lease.Worlds, t.Record.Collections, t.Migrations.Stopped)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if c := done.Control; c != nil {
		fmt.Fprintf(l.out, "\nThe control database: %d tenants put right, %d adopted, %d that were being deleted, or had been.\n", c.Tenants, c.Adopted, c.Deleting)
	}
	switch {
	case done.Decisions > 0:
		fmt.Fprintf(l.out, "\n%d to decide. The databases stay closed.\n", done.Decisions)
	case len(done.Restored) > 0:
		fmt.Fprintln(l.out, "\nNothing is left to decide. Open, by holdfast restore open:")
		for _, s := range done.Restored {
			fmt.Fprintf(l.out, "  %s\n", s.Database)
		}
	}
	return nil
}
