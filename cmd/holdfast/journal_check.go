package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func newJournalCheck(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "check [TENANT]",
		Short: "Verify what the databases have of a tenant's worlds, or of all",
		Long: "Verify what the databases have of a tenant's worlds, or of all: it replays every journal, and holds the\n" +
			"heads, and the checkpoints that are kept, to what that gives.\n\n" +
			"It reads the databases, as the role holdfast_api, and changes nothing. Traffic may go on.\n" +
			"With --json it prints an object a line: each violation as it is found, and behind a tenant's its census.",
		Args: tenantOrAll,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			router, _, err := openToCheck(ctx, r.environ)
			if err != nil {
				return err
			}
			defer router.Close()
			tenants := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
			keys, err := checkpointKeys(ctx, tenants)
			if err != nil {
				return err
			}
			c := &journalCheck{
				worlds:   lease.New(router, nil, lease.Options{}), // reading derives no secret
				keys:     keys,
				progress: newProgress(command.ErrOrStderr()),
				out:      command.OutOrStdout(),
				asJSON:   r.asJSON,
			}
			defer c.progress.clear()
			if err := eachTenant(ctx, tenants, args, c.check); err != nil {
				return err
			}
			return c.conclude()
		},
	}
}

// checkpointKeys are the public keys that have ever signed checkpoints.
func checkpointKeys(ctx context.Context, store *tenancy.Store) (journal.Keys, error) {
	set, err := tenancy.NewCheckpointKeys(store).JWKS(ctx)
	if err != nil {
		return nil, err
	}
	keys := journal.Keys{}
	for _, key := range set.Keys {
		public, err := base64.RawURLEncoding.DecodeString(key.X)
		if err != nil {
			return nil, err
		}
		keys[key.KeyID] = ed25519.PublicKey(public)
	}
	return keys, nil
}

// journalCheck is one run of the command.
type journalCheck struct {
	worlds   *lease.Service
	keys     journal.Keys
	progress *progress
	out      io.Writer
	asJSON   bool
	done     []checkedWorlds
}

// checkedWorlds is a tenant behind its check.
type checkedWorlds struct {
	Tenant domain.TenantID `json:"tenant_id"`
	Name   string          `json:"name"`
	Census lease.Census    `json:"census"`
}

// journalViolation is a violation on its way to a script.
type journalViolation struct {
	Tenant    domain.TenantID `json:"tenant_id"`
	Name      string          `json:"name"`
	Violation lease.Violation `json:"violation"`
}

func (c *journalCheck) check(ctx context.Context, tenant tenancy.Tenant) error {
	c.progress.show("%d tenants checked, now %s", len(c.done), tenant.Name)
	census, err := c.worlds.Check(ctx, tenant.ID, c.keys, func(v lease.Violation) error { return c.found(tenant, v) })
	if err != nil {
		return fmt.Errorf("%s: %w", tenant.Name, err)
	}
	c.done = append(c.done, checkedWorlds{tenant.ID, tenant.Name, census})
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(c.done[len(c.done)-1])
	}
	return nil
}

func (c *journalCheck) found(tenant tenancy.Tenant, v lease.Violation) error {
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(journalViolation{tenant.ID, tenant.Name, v})
	}
	c.progress.clear()
	where := "world " + v.World
	if v.Position > 0 {
		where += fmt.Sprintf(", position %d", v.Position)
	}
	_, err := fmt.Fprintf(c.out, "\n%s:\n%s in number %d on %s, %s\n  %s\n", tenant.Name, v.Kind, v.Number, v.Database, where, v.Detail)
	return err
}

// conclude shows the censuses, and gives the command's exit code.
func (c *journalCheck) conclude() error {
	c.progress.clear()
	violations := int64(0)
	for _, t := range c.done {
		violations += t.Census.Violations
	}
	if !c.asJSON {
		if err := c.table(violations); err != nil {
			return err
		}
	}
	if violations > 0 {
		return exitError{code: exitDiffers}
	}
	return nil
}

func (c *journalCheck) table(violations int64) error {
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if violations > 0 {
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "TENANT\tWORLDS\tRETIRED\tENTRIES\tREJECTIONS\tCOUNTED\tCHECKPOINTS\tVIOLATIONS")
	for _, t := range c.done {
		n := t.Census
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", t.Name,
			n.Worlds, n.Retired, n.Entries, n.Rejections, n.Counted, n.Checkpoints, n.Violations)
	}
	return table.Flush()
}
