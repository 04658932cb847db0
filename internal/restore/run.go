package restore

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// run is one reconciliation.
type run struct {
	*Reconciler
	Request
	Listener
	restored *domain.Restored
	done     *Outcome
}

// byPassword is an operator: whoever has the owner's password needs no token.
func byPassword() tenancy.Scope {
	return tenancy.Scope{Tenant: tenancy.Operators, Scopes: []string{tenancy.OperatorTenants}}
}

// control puts a restored control database in step with the gates.
func (r *run) control(ctx context.Context) error {
	r.Progress("the control database")
	repaired, err := r.store.RepairControl(ctx, r.gates, func(tenant domain.TenantID, what string) error {
		return r.Note(Note{Tenant: tenant, Kind: "control", Detail: what})
	})
	if err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	r.done.Control = &repaired
	return r.Note(Note{Kind: "control",
		Detail: "Operators, principals, clients and keys that were made after the control database's time are gone, and those that were revoked or disabled " +
			"since are good again. Go through them, and end anew what had ended. Every process reads anew what it remembered."})
}

// everyTenant goes through the tenants a page at a time, by name.
func (r *run) everyTenant(ctx context.Context) error {
	page := tenancy.List[string]{Limit: 1000}
	for {
		some, more, err := r.store.Tenants(ctx, byPassword(), page)
		if err != nil {
			return err
		}
		for _, t := range some {
			if t.State == tenancy.TenantProvisioning {
				continue // nobody has been let in yet
			}
			if err := r.tenant(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
		}
		if !more {
			return nil
		}
		page.After = some[len(some)-1].Name
	}
}

func (r *run) tenant(ctx context.Context, t tenancy.Tenant) (err error) {
	r.Progress(fmt.Sprintf("%d tenants done, now %s", r.done.Tenants, t.Name))
	done := Tenant{ID: t.ID, Name: t.Name}
	if err := r.repairGates(ctx, t); err != nil {
		return err
	}
	switch t.State {
	case tenancy.TenantPurging:
		err = r.purging(ctx, t)
	case tenancy.TenantPurged:
		if done.Removed, err = r.remove(ctx, t.ID); err != nil {
			return err
		}
		if done.Removed > 0 {
			err = r.Note(Note{Tenant: t.ID, Name: t.Name, Kind: "purged", Detail: "It had been purged, and the restore brought rows of it back. They are removed again."})
		}
	default:
		err = r.domains(ctx, t, &done)
	}
	if err != nil {
		return err
	}
	r.done.Tenants++
	return r.Tenant(done)
}

func (r *run) repairGates(ctx context.Context, t tenancy.Tenant) error {
	repaired, err := r.store.RepairGates(ctx, r.gates, t)
	switch {
	case err != nil:
		return err
	case len(repaired.Ahead) > 0:
		r.done.Decisions++
		return r.Decide(Decision{Tenant: t.ID, Name: t.Name, Kind: ControlBehind, Detail: fmt.Sprintf(
			"The gates on %v are ahead of the tenant's control row. If the control database was restored, say so by --control.", repaired.Ahead)})
	case len(repaired.Behind) > 0:
		return r.Note(Note{Tenant: t.ID, Name: t.Name, Kind: "gates", Detail: fmt.Sprintf(
			"The gates on %v were behind the tenant's control row, and follow it again.", repaired.Behind)})
	}
	return nil
}

// domains puts each domain's part of a tenant in step. Identity goes first, since it
// is what an operator may have to decide about, and the others go on nevertheless.
func (r *run) domains(ctx context.Context, t tenancy.Tenant, done *Tenant) (err error) {
	done.Identity, err = r.directory.Reconcile(ctx, identity.Reconciling{
		Tenant: t.ID, Policy: identity.HandlePolicy(t.HandlePolicy), Restored: r.restored, Keep: r.Keep,
		Found: func(d identity.DoubleOwner) error {
			r.done.Decisions++
			return r.Decide(Decision{Tenant: t.ID, Name: t.Name, Kind: KeyOfTwo, Key: &d, Detail: d.Detail})
		},
	})
	if err != nil {
		return err
	}
	if done.Lease, err = r.worlds.Reconcile(ctx, t.ID, r.restored, r.keys); err != nil {
		return err
	}
	if done.Record, err = r.records.Reconcile(ctx, t.ID, r.restored); err != nil {
		return err
	}
	done.Migrations, err = r.migrations.Reconcile(ctx, t.ID, r.restored, func(b migration.Setback) error {
		return r.Note(Note{Tenant: t.ID, Name: t.Name, Kind: "migration", Moved: &b, Detail: b.Detail})
	})
	return err
}
