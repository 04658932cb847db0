package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Reconciled counts what a reconciliation did.
type Reconciled struct {
	Worlds      int64 `json:"worlds"`      // that got a new epoch
	Taken       int64 `json:"taken"`       // of these, from a node that had the lease
	Checkpoints int64 `json:"checkpoints"` // kept ones that were signed by a key of the lost time, and are gone
}

// reconcilePage is how many worlds are decided about at once.
const reconcilePage = 100

// restoredReason is why a lease was revoked: whoever reads the journal finds by it
// what happened, and of which restore it was.
func restoredReason(restore domain.RestoreID) string {
	return fmt.Sprintf("The database was put back to an earlier time (restore %s). What was written behind here before is lost.", restore)
}

// sqlUnrestoredWorlds walks the worlds of a number whose writer was not made by the
// restore: it leaves a revocation with its reason in front of the last grant.
const sqlUnrestoredWorlds = `
SELECT w.world_id FROM worlds w
 WHERE w.tenant_id = $1 AND w.number = $2 AND w.world_id > $3 AND NOT w.retired
   AND NOT EXISTS (SELECT FROM journal j
                    WHERE j.tenant_id = $1 AND j.number = $2 AND j.world_id = w.world_id AND j.position = w.granted_position - 1
                      AND j.kind = 'lease_revoked' AND j.details::json ->> 'reason' = $4)
 ORDER BY w.tenant_id, w.number, w.world_id LIMIT $5`

const sqlDropUnsigned = `
DELETE FROM checkpoints c WHERE c.tenant_id = $1 AND c.number = $2 AND c.key_id <> ALL ($3)`

// Reconcile gives every world of a tenant in the restored numbers a new writer: the
// coordinator, at an epoch that the lost time's holders don't have. It is journaled
// as a revocation and a grant, as any other change of the writer. Where the
// coordinator has the lease already, which can't be revoked, the restore takes it
// first, as a principal of its own.
//
// keys are the public keys that have ever signed checkpoints, as far as is known
// now. A kept checkpoint of another one can't be shown to anybody any more.
//
// Positions have no gaps, so those of the lost time are given out again. Who has
// read further than the journal goes is told (position_ahead) until it has grown,
// and by the chain's hashes ever after.
//
// It may be repeated, and is, when it was interrupted.
//
// Errors: unavailable, outcome unknown.
func (s *Service) Reconcile(ctx context.Context, tenant domain.TenantID, restored *domain.Restored, keys journal.Keys) (done Reconciled, err error) {
	known := make([]string, 0, len(keys))
	for id := range keys {
		known = append(known, id)
	}
	for _, n := range restored.List() {
		dropped, err := s.dropUnsigned(ctx, tenant, n, known)
		if err != nil {
			return done, err
		}
		done.Checkpoints += dropped
		if err := s.reconcileNumber(ctx, tenant, n, restored[n], &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (s *Service) dropUnsigned(ctx context.Context, tenant domain.TenantID, n domain.Number, known []string) (dropped int64, err error) {
	err = tenancy.Run(ctx, s.router.Database(n), s.restoring(tenant, n), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlDropUnsigned, int16(n), known).Exec(func(tag pgconn.CommandTag) error {
			dropped = tag.RowsAffected()
			return nil
		})
		return tx.Send(ctx)
	})
	return dropped, err
}

func (s *Service) restoring(tenant domain.TenantID, n domain.Number) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{n}, Purpose: tenancy.Restore}
}

func (s *Service) reconcileNumber(ctx context.Context, tenant domain.TenantID, n domain.Number, restore domain.RestoreID, done *Reconciled) error {
	restorer := &reconciling{Service: s, tenant: tenant, restore: restore}
	for after := ""; ; {
		var page []string
		err := tenancy.Run(ctx, s.router.Database(n), s.restoring(tenant, n), func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlUnrestoredWorlds, int16(n), after, restoredReason(restore), reconcilePage).Query(func(rows pgx.Rows) (err error) {
				page, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			})
			return nil
		})
		if err != nil {
			return err
		}
		if err := restorer.worlds(ctx, n, page, done); err != nil {
			return err
		}
		if len(page) < reconcilePage {
			return nil
		}
		after = page[len(page)-1]
	}
}

// reconciling makes the decisions of one restore.
type reconciling struct {
	*Service
	tenant  domain.TenantID
	restore domain.RestoreID
}

// worlds decides about worlds of one number, each for itself.
func (r *reconciling) worlds(ctx context.Context, n domain.Number, worlds []string, done *Reconciled) error {
	var decisions []*decision
	taken := make([]bool, len(worlds))
	for i, world := range worlds {
		decisions = append(decisions, &decision{world: worldRef{n, world}, decide: func(w *locked) error {
			taken[i] = r.renew(w)
			return nil
		}})
	}
	var failed error
	for i, err := range r.decideEach(ctx, r.router.Database(n), r.tenant, decisions) {
		switch {
		case err == nil:
			done.Worlds++
			if taken[i] {
				done.Taken++
			}
		case !errors.Is(err, errNoWorld):
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// restoreTerm is how long the restore could hold a lease that it takes from the
// coordinator. It gives it up in the same transaction.
const restoreTerm = MinTerm

// renew makes the coordinator the writer anew, and tells whether a node was it.
func (r *reconciling) renew(w *locked) (taken bool) {
	taken = !w.Holder.IsCoordinator()
	by := journal.Actor{Type: journal.ActorOperator, Issuer: journal.HoldfastIssuer, Subject: r.restore.String()}
	if !taken {
		ends := journal.Time(w.now.Add(restoreTerm))
		w.note(journal.KindLeaseHandedOff, w.Epoch+1, journal.Coordinator, journal.HandedOff{
			From: w.Holder, To: journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: r.restore.String()},
			Epoch: w.Epoch + 1, TermSeconds: int64(restoreTerm / time.Second), ExpiresAt: ends, ActivateBy: ends,
		})
	}
	w.end(restoredReason(r.restore), by)
	return taken
}
