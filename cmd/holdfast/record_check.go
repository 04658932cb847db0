package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func newRecordCheck(r *remote) *cobra.Command {
	c := &recordCheck{}
	var noBodies bool
	command := &cobra.Command{
		Use:   "check [TENANT]",
		Short: "Verify what the databases and the bucket have of a tenant's records, or of all",
		Long: "Verify what the databases and the bucket have of a tenant's records, or of all: that records, sections,\n" +
			"the export, batches and receipts agree, and that every live section's body reads back as its digest.\n\n" +
			"It reads the databases, as the role holdfast_api, and the bucket, and changes nothing. Traffic may go on.\n" +
			"With --json it prints an object a line: each violation as it is found, and behind a tenant's its census.\n" +
			"A body that can't be read just now is told, and is no violation; where nothing else is wrong the exit code is 1.",
		Args: tenantOrAll,
		RunE: func(command *cobra.Command, args []string) error {
			if c.collection != "" && len(args) == 0 {
				return exitError{exitUsage, fmt.Errorf("--collection needs the TENANT whose collection it is")}
			}
			ctx := command.Context()
			router, settings, err := openToCheck(ctx, r.environ)
			if err != nil {
				return err
			}
			defer router.Close()
			store, err := openBodies(ctx, settings)
			if err != nil {
				return err
			}
			defer store.close()
			c.records = record.New(router, nil, store.store, record.Options{}) // reading asks for no lease
			c.bodies = !noBodies
			c.progress = newProgress(command.ErrOrStderr())
			c.out, c.asJSON = command.OutOrStdout(), r.asJSON
			defer c.progress.clear()
			tenants := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
			if err := eachTenant(ctx, tenants, args, c.check); err != nil {
				return err
			}
			return c.conclude()
		},
	}
	command.Flags().StringVar(&c.collection, "collection", "", "one collection of the tenant; all, and rows that are of none, without it")
	command.Flags().BoolVar(&noBodies, "no-bodies", false, "leave out reading the bodies")
	return command
}

// bodies are the object store that the environment names; store is nil where it
// names none.
type bodies struct {
	store record.Store
	close func()
}

func openBodies(ctx context.Context, settings config.Config) (bodies, error) {
	of, named := settings.ObjectStore()
	if !named {
		return bodies{close: func() {}}, nil
	}
	bucket, err := objectstore.Open(ctx, of, objectstore.Options{})
	if err != nil {
		return bodies{}, err
	}
	return bodies{bucket, func() { _ = bucket.Close() }}, nil // nothing is under way by then
}

// recordCheck is one run of the command.
type recordCheck struct {
	records    *record.Service
	collection string
	bodies     bool
	progress   *progress
	out        io.Writer
	asJSON     bool
	done       []checkedRecords
}

// checkedRecords is a tenant behind its check.
type checkedRecords struct {
	Tenant domain.TenantID `json:"tenant_id"`
	Name   string          `json:"name"`
	Census record.Census   `json:"census"`
}

// recordViolation is a violation on its way to a script.
type recordViolation struct {
	Tenant    domain.TenantID  `json:"tenant_id"`
	Name      string           `json:"name"`
	Violation record.Violation `json:"violation"`
}

func (c *recordCheck) check(ctx context.Context, tenant tenancy.Tenant) error {
	show := func(n record.Census) {
		c.progress.show("%d tenants checked, now %s: %d records, %d bodies of %d bytes", len(c.done), tenant.Name, n.Records, n.Bodies, n.Bytes)
	}
	show(record.Census{})
	census, err := c.records.Check(ctx, tenant.ID, record.Checking{
		Collection: c.collection, Bodies: c.bodies, Progress: show,
		Found: func(v record.Violation) error { return c.found(tenant, v) },
	})
	switch {
	case domain.CodeOf(err) == "object_store_missing":
		return exitError{exitUsage, fmt.Errorf("%s: bodies are kept in an object store: name it by HOLDFAST_BODIES_ENDPOINT and what goes with it, "+
			"or leave them out by --no-bodies", tenant.Name)}
	case err != nil:
		return fmt.Errorf("%s: %w", tenant.Name, plainly(err))
	}
	c.done = append(c.done, checkedRecords{tenant.ID, tenant.Name, census})
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(c.done[len(c.done)-1])
	}
	return nil
}

func (c *recordCheck) found(tenant tenancy.Tenant, v record.Violation) error {
	if c.asJSON {
		return json.NewEncoder(c.out).Encode(recordViolation{tenant.ID, tenant.Name, v})
	}
	c.progress.clear()
	where := "collection " + v.Collection
	for _, of := range []struct{ what, name string }{{"record", v.Key}, {"section", v.Section}, {"id", v.ID}} {
		if of.name != "" {
			where += fmt.Sprintf(", %s %q", of.what, of.name) // a tenant's own text
		}
	}
	_, err := fmt.Fprintf(c.out, "\n%s:\n%s in number %d on %s, %s\n  %s\n", tenant.Name, v.Kind, v.Number, v.Database, where, v.Detail)
	return err
}

// conclude shows the censuses, and gives the command's exit code.
func (c *recordCheck) conclude() error {
	c.progress.clear()
	violations, unreachable := int64(0), int64(0)
	for _, t := range c.done {
		violations += t.Census.Violations
		unreachable += t.Census.Unreachable
	}
	if !c.asJSON {
		if err := c.table(violations + unreachable); err != nil {
			return err
		}
	}
	switch {
	case violations > 0:
		return exitError{code: exitDiffers}
	case unreachable > 0:
		return fmt.Errorf("%d bodies couldn't be read, so nobody knows whether they are sound", unreachable)
	}
	return nil
}

func (c *recordCheck) table(found int64) error {
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if found > 0 {
		fmt.Fprintln(table)
	}
	fmt.Fprintln(table, "TENANT\tCOLLECTIONS\tRECORDS\tLIVE\tTOMBSTONES\tBODIES\tBYTES\tFENCES\tBATCHES\tCLAIMS\tRECEIPTS\tVIOLATIONS\tUNREACHABLE")
	for _, t := range c.done {
		n := t.Census
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", t.Name,
			n.Collections, n.Records, n.Live, n.Tombstones, n.Bodies, n.Bytes, n.Fences, n.Batches, n.Claims, n.Receipts, n.Violations, n.Unreachable)
	}
	return table.Flush()
}
