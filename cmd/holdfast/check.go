package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// What the checks have in common: they read the databases, of one tenant or of all.

// openToCheck opens the databases that a check reads, until the caller closes them,
// and gives what else the environment says.
func openToCheck(ctx context.Context, environ []string) (*postgres.Router, config.Config, error) {
	settings, err := config.Load(config.Check, environ)
	if err != nil {
		return nil, config.Config{}, exitError{exitUsage, fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	router, err := postgres.Open(ctx, settings.Postgres())
	if err != nil {
		return nil, config.Config{}, err
	}
	if err := trusted(ctx, router); err != nil {
		router.Close()
		return nil, config.Config{}, err
	}
	return router, settings, nil
}

// trusted refuses databases of which a check would say what isn't so.
func trusted(ctx context.Context, router *postgres.Router) error {
	if err := postgres.CheckPooler(ctx, router); err != nil {
		return err
	}
	if err := postgres.CheckSchema(ctx, router); err != nil {
		return err
	}
	err := postgres.CheckPlacement(ctx, router)
	var wrong postgres.PlacementError
	if errors.As(err, &wrong) {
		return exitError{exitUsage, fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	return err
}

// tenantOrAll are a check's arguments.
func tenantOrAll(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return arguments("TENANT")(command, args)
}

// byPassword is an operator: whoever has the databases' password needs no token.
func byPassword() tenancy.Scope {
	return tenancy.Scope{Tenant: tenancy.Operators, Scopes: []string{tenancy.OperatorTenants}}
}

// eachTenant checks the tenant that the arguments name, or every one.
func eachTenant(ctx context.Context, tenants *tenancy.Store, args []string, check func(context.Context, tenancy.Tenant) error) error {
	if len(args) == 1 {
		id, err := domain.ParseID[domain.TenantKind](args[0])
		if err != nil {
			return err
		}
		tenant, err := tenants.Tenant(ctx, byPassword(), id)
		if err != nil {
			return plainly(err)
		}
		return check(ctx, tenant)
	}
	page := tenancy.List[string]{Limit: int(pageSize)}
	for {
		some, more, err := tenants.Tenants(ctx, byPassword(), page)
		if err != nil {
			return err
		}
		for _, tenant := range some {
			if tenant.State == tenancy.TenantProvisioning {
				continue // nobody has been let in yet
			}
			if err := check(ctx, tenant); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		page.After = some[len(some)-1].Name
	}
}
