package migration

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Setback is a collection that a restore has taken back behind what its migration's
// control row says of it.
type Setback struct {
	Migration  domain.MigrationID `json:"migration_id,omitzero"` // zero: of none that is known
	Collection string             `json:"collection"`
	State      State              `json:"state,omitempty"` // of the migration now
	Detail     string             `json:"detail"`          // what is so, and how to go on
}

// Reconciled counts what a reconciliation did.
type Reconciled struct {
	Stopped  int64 `json:"stopped"`  // migrations, for a review
	Setbacks int64 `json:"setbacks"` // that were told
}

const reconcilePage = 500

// sqlReconcileCollections walks the collections of some numbers with the part that
// each has in a migration, if any.
const sqlReconcileCollections = `
SELECT c.number, c.collection, c.record_format, m.migration_id, m.plan_hash, m.drained_at IS NOT NULL, m.closed_at IS NOT NULL
  FROM collections c
  LEFT JOIN migration_checkpoints m ON m.tenant_id = $1 AND m.number = c.number AND m.collection_id = c.collection_id
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection > $3
 ORDER BY c.tenant_id, c.number, c.collection LIMIT $4`

// restoredPart is a collection as it was restored.
type restoredPart struct {
	name            string
	format          int16
	migration       *domain.MigrationID // whose checkpoint it has; nil for none
	plan            []byte
	drained, closed bool
}

// rehearsed tells that the part is in a rehearsal, of which no control database has
// ever had a row.
func (p *restoredPart) rehearsed() bool {
	hash := rehearsalHash(*p.migration)
	return bytes.Equal(p.plan, hash[:])
}

// verdict is what was found of a migration.
type verdict struct {
	*Migration
	touched bool // it has a part in a restored number
	behind  bool // a part is from before the activation
	undone  bool // a part isn't drained, or isn't closed, though the migration is
}

// Reconcile stops a tenant's migrations of which a part was put back to an earlier
// time, with the category database_restored: it names where to go on, and another
// operator looks at it before it does. One that was closed is reopened if it left a
// collection half way. A collection that was put back to before its closed
// migration had begun is told, and so is one of a migration that nobody knows of.
// found is never called twice at once.
//
// It may be repeated.
//
// Errors: found's, unavailable.
func (s *Service) Reconcile(ctx context.Context, tenant domain.TenantID, restored *domain.Restored, found func(Setback) error) (done Reconciled, err error) {
	all, err := s.everyMigration(ctx, tenant)
	if err != nil {
		return done, err
	}
	tell := func(b Setback) error {
		done.Setbacks++
		return found(b)
	}
	for _, n := range restored.List() {
		if err := s.restoredParts(ctx, tenant, n, func(p restoredPart) error { return judgeRestored(all, &p, tell) }); err != nil {
			return done, err
		}
	}
	for _, v := range all {
		stopped, err := s.setBack(ctx, v)
		if err != nil {
			return done, err
		}
		if stopped {
			done.Stopped++
		}
	}
	return done, nil
}

// everyMigration gives those that have come as far as to change a collection, the
// latest first.
func (s *Service) everyMigration(ctx context.Context, tenant domain.TenantID) (all []*verdict, err error) {
	page := tenancy.List[domain.MigrationID]{Limit: maxOpen}
	for {
		some, more, err := s.Migrations(ctx, tenant, page)
		if err != nil {
			return nil, err
		}
		for i := range some {
			if some[i].State.acts() || some[i].State == Closed {
				all = append(all, &verdict{Migration: &some[i]})
			}
		}
		if !more {
			slices.Reverse(all) // ids grow with time
			return all, nil
		}
		page.After = some[len(some)-1].ID
	}
}

func (s *Service) restoredParts(ctx context.Context, tenant domain.TenantID, n domain.Number, judge func(restoredPart) error) error {
	for after := ""; ; {
		var page []restoredPart
		e := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{n}, Purpose: tenancy.Restore, ReadOnly: true}
		err := tenancy.Run(ctx, s.router.Database(n), e, func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlReconcileCollections, int16(n), after, reconcilePage).Query(func(rows pgx.Rows) (err error) {
				page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p restoredPart, err error) {
					var number int16
					err = row.Scan(&number, &p.name, &p.format, &p.migration, &p.plan, &p.drained, &p.closed)
					return p, err
				})
				return err
			})
			return nil
		})
		if err != nil {
			return err
		}
		for _, p := range page {
			if err := judge(p); err != nil {
				return err
			}
		}
		if len(page) < reconcilePage {
			return nil
		}
		after = page[len(page)-1].name
	}
}

// judgeRestored holds a collection to the latest migration that covers it.
func judgeRestored(all []*verdict, p *restoredPart, tell func(Setback) error) error {
	if p.migration != nil && !p.rehearsed() && !slices.ContainsFunc(all, func(v *verdict) bool { return v.ID == *p.migration }) {
		return tell(Setback{Migration: *p.migration, Collection: p.name,
			Detail: "The collection has a part in a migration that the control database doesn't know. It is read and written as ever. " +
				"Restore the control database to a later time, or ask for another migration of the collection."})
	}
	i := slices.IndexFunc(all, func(v *verdict) bool { return v.Collections == nil || slices.Contains(v.Collections, p.name) })
	if i < 0 {
		return nil
	}
	v := all[i]
	v.touched = true
	has := p.migration != nil && *p.migration == v.ID
	switch {
	case !has && p.format != v.Kind.direction().to && v.State == Closed:
		return tell(Setback{Migration: v.ID, Collection: p.name, State: Closed,
			Detail: "The collection was put back to before its migration, which is closed, had begun. It serves from where its bodies were then. " +
				"Ask for another migration of it."})
	case !has:
		v.behind = v.behind || p.format != v.Kind.direction().to
	case !p.drained, v.State == Closed && !p.closed:
		v.undone = true
	}
	return nil
}

// setBack stops a migration that has a part in a restored number, where it has to
// go on from. It is left alone where nothing came of the restore: it is closed, and
// whole; or it is stopped for that already.
func (s *Service) setBack(ctx context.Context, v *verdict) (stopped bool, err error) {
	why := Stop{Category: DatabaseRestored, From: v.State.resumesAt(), NextStep: nextSteps[DatabaseRestored]}
	switch {
	case !v.touched, v.State == Activating:
		return false, nil
	case !v.undone && !v.behind && (v.State == Drained || v.State == Verified || v.State == Closed):
		return false, nil
	case v.State == Stopped:
		why.From = v.Stop.From
	}
	switch {
	case v.behind:
		why.From = Activating
	case v.undone && why.From != Activating:
		why.From = Active
	}
	if v.State == Stopped && v.Stop.Category == DatabaseRestored && v.Stop.From == why.From {
		return false, s.holdRestored(ctx, v.Migration)
	}
	m := *v.Migration
	err = s.control.ControlTx(ctx, m.Tenant, func(tx pgx.Tx) error {
		st := step{act: "restore", to: Stopped, by: holdfast, stop: &why, note: why}
		var err error
		if m, err = transitionTx(ctx, tx, v.Migration, st); err != nil {
			return err
		}
		return endRunsTx(ctx, tx, &m, OutcomeStopped)
	})
	if err != nil {
		return false, err
	}
	return true, s.holdRestored(ctx, &m)
}

// holdRestored is hold, also in numbers that are closed.
func (s *Service) holdRestored(ctx context.Context, m *Migration) error {
	e := tenancy.Entry{Tenant: m.Tenant, Purpose: tenancy.Restore}
	return s.everywhere(ctx, e, func(_ int, db *postgres.Database, tx *tenancy.Tx) {
		tx.Queue(sqlHold, numbersOf(db), m.ID, true, m.Revision)
	})
}
