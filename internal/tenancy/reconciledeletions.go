package tenancy

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// What a restore does to deletions. Legal holds, and for the most part deletions, are
// in the control database alone: where that was put back, a hold of the lost time is
// gone, and a grace that had been over for long would end when the first worker starts.

const (
	sqlDropDeletion = `DELETE FROM tenant_deletions WHERE tenant_id = $1`
	sqlDropPurge    = `DELETE FROM tenant_purges WHERE tenant_id = $1`
)

// sqlLeftOfTenant looks for rows of the transaction's tenant, and for counts of rows
// that were purged, which stay until just before its purge ends.
const sqlLeftOfTenant = `
SELECT purge_next(0::smallint) IS NOT NULL OR EXISTS (SELECT FROM purge_counts c WHERE c.tenant_id = $1)`

// forgotten tells that no data database has anything of the tenant but its gate. A
// purge that a hold has stopped has left either rows or counts.
func (g *Gates) forgotten(ctx context.Context, tenant domain.TenantID) (bool, error) {
	for _, db := range g.router.Databases() {
		var left bool
		err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setTenant(tenant)); err != nil {
				return err
			}
			return tx.QueryRow(ctx, sqlLeftOfTenant, tenant).Scan(&left)
		})
		if err != nil || left {
			return false, postgres.Classify(err)
		}
	}
	return true, nil
}

const (
	sqlPurgeAnew = `
UPDATE tenants SET state = 'purging', revision = $2 + 1, updated_at = $3 WHERE tenant_id = $1
RETURNING ` + tenantColumns

	// sqlPurgeFromGates begins a purge, or the one that is there once more. What that
	// has counted of this database's rows is as old as they are.
	sqlPurgeFromGates = `
INSERT INTO tenant_purges AS p (tenant_id, step, turn, next_number, has_objects, after_object, objects, object_bytes, jobs, control_rows, began_at, stepped_at)
VALUES ($1, 'gates', 1, 0, false, '', 0, 0, 0, '{}', $2, $2)
ON CONFLICT (tenant_id) DO UPDATE
   SET step = 'gates', turn = p.turn + 1, next_number = 0, rows = NULL, settled_at = NULL, stalled = NULL`

	sqlEndGrace = `UPDATE tenant_deletions SET purge_after = least(purge_after, $2) WHERE tenant_id = $1`
)

// purgeAnewTx has a tenant that had been purged purged once more, all steps of it:
// its principals, keys and jobs have come back with the control database.
func (s *Store) purgeAnewTx(ctx context.Context, tx pgx.Tx, t Tenant, gate GateState) (Tenant, error) {
	now := s.now()
	for _, sql := range []string{sqlPurgeFromGates, sqlEndGrace} {
		if _, err := tx.Exec(ctx, sql, t.ID, now); err != nil {
			return Tenant{}, err
		}
	}
	rows, _ := tx.Query(ctx, sqlPurgeAnew, t.ID, gate.Revision, now)
	return pgx.CollectExactlyOneRow(rows, scanTenant)
}

const (
	sqlUnderDeletion = `
SELECT ` + tenantColumns + ` FROM tenants
 WHERE tenant_id > $1 AND state <> 'purged'
   AND (state IN ('deleting', 'purging') OR tenant_id IN (SELECT d.tenant_id FROM tenant_deletions d))
 ORDER BY tenant_id LIMIT $2`

	sqlGrantGrace = `UPDATE tenant_deletions SET purge_after = greatest(purge_after, $2) WHERE tenant_id = $1`
)

// restoredHold is the hold of a tenant that was being purged.
const restoredHold = "The control database was restored: a hold that was set meanwhile is lost. Lift this one if there was none."

// spareDeletions gives operators the time to set holds anew: a deletion in its grace
// gets a whole one, and a purge that had begun is held. It tells of all deletions.
func (s *Store) spareDeletions(ctx context.Context, gates *Gates, done *RepairedControl, told func(domain.TenantID, string) error) error {
	for after := (domain.TenantID{}); ; {
		var page []Tenant
		err := s.controlRead(ctx, Operators, func(tx pgx.Tx) (err error) {
			rows, _ := tx.Query(ctx, sqlUnderDeletion, after, maxPage)
			page, err = pgx.CollectRows(rows, scanTenant)
			return err
		})
		if err != nil {
			return err
		}
		for _, t := range page {
			if err := s.spareDeletion(ctx, gates, t, done, told); err != nil {
				return fmt.Errorf("deletion of tenant %s: %w", t.ID, err)
			}
		}
		if len(page) < maxPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

func (s *Store) spareDeletion(ctx context.Context, gates *Gates, t Tenant, done *RepairedControl, told func(domain.TenantID, string) error) error {
	switch {
	case t.State == TenantDeleting:
		over := s.now().Add(DeletionGrace)
		err := s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sqlGrantGrace, t.ID, over)
			return err
		})
		if err != nil {
			return err
		}
		done.Grace++
		return told(t.ID, "It is being deleted. Its grace began anew: call the deletion off, or set its legal hold again, within seven days.")
	case t.State != TenantPurging:
		return told(t.ID, "Its deletion is asked for, and not approved. Call that off if it isn't wanted any more.")
	case t.Hold != nil:
		return told(t.ID, "It is being purged, and has a legal hold: the purge goes on when that is lifted.")
	}
	forgotten, err := gates.forgotten(ctx, t.ID)
	if err != nil || forgotten {
		return err
	}
	t, err = s.decideHold(ctx, t.ID, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		if t.State != TenantPurging || t.Hold != nil {
			return t, nil
		}
		rows, _ := tx.Query(ctx, sqlSetHold, t.ID, restoredHold, "holdfast restore", s.now())
		return pgx.CollectExactlyOneRow(rows, scanTenant)
	})
	if err != nil {
		return err
	}
	done.Held++
	return told(t.ID, "It is being purged. It has a legal hold now, since one that was set meanwhile would be lost: lift it, and the purge goes on.")
}
