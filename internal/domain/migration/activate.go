package migration

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Activation is what an activation came to.
type Activation struct {
	Migration
	Collections     []AcceptedCollection // all that go by the plan now, by number and name
	PointOfNoReturn string               // in plain words
}

// AcceptedCollection is a collection that has accepted a plan.
type AcceptedCollection struct {
	Name       string
	Frontier   int64 // the last row identity at the switch
	AcceptedAt time.Time
}

const (
	noReturn = "This was the point of no return. The collections write their bodies to the object store from now on, " +
		"and no process that knows format 1 alone is admitted to any data database again, for any tenant. " +
		"Bodies that are still in the database stay readable there until a run has moved them. " +
		"The way back is a migration of its own, rehydrate."
	noReturnBack = "This was the point of no return. The collections write their bodies to the databases from now on. " +
		"Bodies that are still in the object store stay readable there until a run has brought them back, " +
		"and processes must know format 2 as before."
)

// Activate has the collections accept an approved plan, one after the other, and
// uses the approval up. It can be repeated until it has been through with all of
// them; a reader never cares which have been done.
//
// Errors: not found migration_not_found; conflict migration_state,
// plan_hash_differs, plan_drifted, approval_missing, baseline_missing,
// processes_too_old, migration_under_way, plan_differs, lifecycle_overlaps;
// unavailable.
func (s *Service) Activate(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash) (Activation, error) {
	m, p, err := s.standing(ctx, tenant, id, plan)
	if err != nil {
		return Activation{}, err
	}
	switch {
	case m.Envelope != Hash{}:
		return Activation{}, errBuildMoves
	case m.State == Approved, m.State == Activating:
	case m.State == Active:
		return s.activated(ctx, m) // whoever lost the answer gets it
	default:
		return Activation{}, errState(m.State)
	}
	// Behind the point of no return there is no other plan to make: as with a run,
	// harmless rules may have come.
	demand := s.demandPlan
	if m.State == Activating {
		demand = s.demandRunnable
	}
	if err := demand(ctx, &m, &p); err != nil {
		return Activation{}, s.halt(ctx, &m, err)
	}
	if err := s.demandFormats(ctx, tenancy.RecordsInObjects); err != nil {
		return Activation{}, err
	}
	if m.State == Approved {
		if m, err = s.commence(ctx, scope, &m); err != nil {
			return Activation{}, err
		}
	}
	// A crash from here on leaves some collections with the plan and others without.
	// Activating again goes on.
	if err := s.acceptAll(ctx, &m); err != nil {
		return Activation{}, err
	}
	if m, err = s.transit(ctx, &m, step{act: "activate", to: Active, by: actorOf(scope)}); err != nil {
		return Activation{}, err
	}
	return s.activated(ctx, m)
}

// halt stops a migration in the middle of its activation when what it was made for
// has changed, so that another build may take it over: only what is stopped can be
// requalified. A lifecycle rule only has to be mended. It gives the error.
func (s *Service) halt(ctx context.Context, m *Migration, err error) error {
	if m.State != Activating || categoryOf(err) != BuildDiffers {
		return err
	}
	if _, failed := s.stop(ctx, m.Tenant, m.ID, stopFor(err, "")); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// commence passes the point of no return, and uses the approval up.
func (s *Service) commence(ctx context.Context, scope tenancy.Scope, m *Migration) (next Migration, err error) {
	err = s.control.ControlTx(ctx, m.Tenant, func(tx pgx.Tx) error {
		if err := demandAloneTx(ctx, tx, m); err != nil {
			return err
		}
		if err := s.demandReportTx(ctx, tx, m, "baseline"); err != nil {
			return err
		}
		if err := useApprovalTx(ctx, tx, m, ofPlan, m.PlanHash); err != nil {
			return err
		}
		next, err = transitTx(ctx, tx, m, step{act: "activate", to: Activating, by: actorOf(scope)})
		return err
	})
	return next, err
}

// sqlOneAtATime lets activations of one tenant come one after the other.
const (
	sqlOneAtATime = `SELECT pg_advisory_xact_lock(hashtextextended('holdfast/migrations/' || $1::uuid::text, 0))`
	sqlActing     = `
SELECT ` + migrationColumns + ` FROM migrations m
 WHERE m.tenant_id = $1 AND m.state IN ('activating', 'active', 'paused', 'stopped', 'drained', 'verified')`
)

var errUnderWay = domain.Conflict("migration_under_way",
	"Another migration of some of these collections isn't over. Wait for it, or name other collections.")

// demandAloneTx refuses a migration beside another of the same collections. Each
// collection's own row would refuse it too, but when some have accepted already.
func demandAloneTx(ctx context.Context, tx pgx.Tx, m *Migration) error {
	if _, err := tx.Exec(ctx, sqlOneAtATime, m.Tenant); err != nil {
		return err
	}
	rows, _ := tx.Query(ctx, sqlActing, m.Tenant)
	others, err := pgx.CollectRows(rows, scanMigration)
	if err != nil {
		return err
	}
	for i := range others {
		if others[i].overlaps(m) {
			return errUnderWay.With("migration_id", others[i].ID.String())
		}
	}
	return nil
}

// acceptAll switches where new collections begin, and then every collection. The
// floor goes first: no process that can't read what comes is admitted any more.
func (s *Service) acceptAll(ctx context.Context, m *Migration) error {
	if err := s.control.DemandRecordFormat(ctx, tenancy.RecordsInObjects); err != nil {
		return err
	}
	if m.Collections == nil {
		// Who creates a collection finds this at the gate, which waits for those that are
		// at it: behind it none begins in the former format.
		if err := s.control.BeginRecords(ctx, m.Tenant, m.Kind.direction().to); err != nil {
			return err
		}
	}
	all, err := s.covered(ctx, m)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := s.accept(ctx, m, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) activated(ctx context.Context, m Migration) (Activation, error) {
	all, err := s.checkpoints(ctx, &m)
	if err != nil {
		return Activation{}, err
	}
	a := Activation{Migration: m, PointOfNoReturn: noReturn}
	if m.Kind == Rehydrate {
		a.PointOfNoReturn = noReturnBack
	}
	for _, c := range all {
		a.Collections = append(a.Collections, AcceptedCollection{c.Collection, c.Frontier, c.ActivatedAt})
	}
	return a, nil
}
