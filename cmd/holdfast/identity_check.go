package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func newIdentityCheck(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "check [TENANT]",
		Short: "Verify what the databases have of a tenant's directory, or of all",
		Long: "Verify what the databases have of a tenant's directory, or of all.\n\n" +
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
			c := &identityCheck{
				directory: identity.New(router, nil, identity.Options{}), // reading derives no secret
				progress:  newProgress(command.ErrOrStderr()),
				out:       command.OutOrStdout(),
				asJSON:    r.asJSON,
			}
			defer c.progress.clear()
			if err := eachTenant(ctx, tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now), args, c.check); err != nil {
				return err
			}
			return c.conclude()
		},
	}
}

// identityCheck is one run of the command.
type identityCheck struct {
	directory *identity.Service
	progress  *progress
	out       io.Writer
	asJSON    bool
	done      []checkedTenant
}

// checkedTenant is a tenant behind its check.
type checkedTenant struct {
	Tenant domain.TenantID `json:"tenant_id"`
	Name   string          `json:"name"`
	Census identity.Census `json:"census"`
}

// tenantViolation is a violation on its way to a script.
type tenantViolation struct {
	Tenant    domain.TenantID    `json:"tenant_id"`
	Name      string             `json:"name"`
	Bucket    string             `json:"bucket"`
	Violation identity.Violation `json:"violation"`
}

func (c *identityCheck) check(ctx context.Context, tenant tenancy.Tenant) error {
	c.progress.show("%d tenants checked, now %s", len(c.done), tenant.Name)
	census, err := c.directory.Check(ctx, tenant.ID, func(v identity.Violation) error { return c.found(tenant, v) })
	if err != nil {
		return fmt.Errorf("%s: %w", tenant.Name, err)
	}
	c.done = append(c.done, checkedTenant{tenant.ID, tenant.Name, census})
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(c.done[len(c.done)-1])
	}
	return nil
}

func (c *identityCheck) found(tenant tenancy.Tenant, v identity.Violation) error {
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(tenantViolation{tenant.ID, tenant.Name, v.Bucket(), v})
	}
	record := "-"
	if !v.Record.IsZero() {
		record = v.Record.String()
	}
	c.progress.clear()
	fmt.Fprintf(c.out, "\n%s:", tenant.Name)
	writeViolation(c.out, foundViolation{Kind: string(v.Kind), Database: v.Database, Bucket: v.Bucket(), Record: record, Detail: v.Detail})
	return nil
}

// conclude shows the censuses, and gives the command's exit code.
func (c *identityCheck) conclude() error {
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

func (c *identityCheck) table(violations int64) error {
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if violations > 0 {
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "TENANT\tACCOUNTS\tTOMBSTONES\tDEVICES\tKEYS\tEVENTS\tPENDING\tRESIDUE\tVIOLATIONS")
	for _, t := range c.done {
		var accounts, tombstones, devices, keys int64
		for _, r := range t.Census.Records {
			switch {
			case r.Family == domain.FamilyDevice:
				devices += r.Count
			case r.Status == "deleted":
				tombstones += r.Count
			default:
				accounts += r.Count
			}
		}
		for _, k := range t.Census.Keys {
			keys += k.Count
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", t.Name, accounts, tombstones, devices, keys,
			t.Census.Events, t.Census.Pending, t.Census.Residue, t.Census.Violations)
	}
	return table.Flush()
}
