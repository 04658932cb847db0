package record

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Reconciled counts what a reconciliation did.
type Reconciled struct {
	Collections int64 `json:"collections"` // whose counters left the era of the lost time
	Snapshots   int64 `json:"snapshots"`   // that are removed, since their objects may be gone
}

// reconcilePage is how many collections are taken on in one transaction.
const reconcilePage = 500

// sqlLeaveEra takes a page of a number's collections on to the next era, once a
// restore. Sequences, revisions (which follow from them, apply.go) and generations of
// the lost time are then never given out again. A transaction of before that was
// somehow still under way would find another token. 2^40 is domain.NextEra's.
const sqlLeaveEra = `
UPDATE collections c
   SET restored_sequence = c.export_sequence, export_sequence = ((greatest(c.export_sequence, c.claim_generation) >> 40) + 1) << 40,
       claim_generation = ((greatest(c.export_sequence, c.claim_generation) >> 40) + 1) << 40, token = p.token, restore_id = $3
  FROM (SELECT p.collection, $4::uuid AS token FROM collections p
         WHERE p.tenant_id = $1 AND p.number = $2 AND p.restore_id IS DISTINCT FROM $3
         ORDER BY p.tenant_id, p.number, p.collection LIMIT $5) p
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = p.collection`

// sqlForgetSnapshots has the snapshots of a number removed: objects of theirs may
// have been removed in the lost time. Another one is written when it is asked for.
const sqlForgetSnapshots = `
UPDATE snapshots s SET state = 'removing', ended_at = coalesce(s.ended_at, $4), due_at = $4
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.state <> 'removing'
   AND EXISTS (SELECT FROM collections c
                WHERE c.tenant_id = $1 AND c.number::integer = s.number::integer AND c.collection_id = s.collection_id
                  AND c.restore_id IS DISTINCT FROM $3)`

// Reconcile takes a tenant's collections in the restored numbers on to the next era,
// so that whoever has read further than they go now is told (cursor_ahead), and no
// ETag and no claim of the lost time means anything else than it did. Bodies need
// nothing: none is ever removed, so what the restored rows refer to is there.
//
// It may be repeated, and is, when it was interrupted.
//
// Errors: unavailable, outcome unknown.
func (s *Service) Reconcile(ctx context.Context, tenant domain.TenantID, restored *domain.Restored) (done Reconciled, err error) {
	for _, n := range restored.List() {
		if err := s.leaveEra(ctx, tenant, n, restored[n], &done); err != nil {
			return done, err
		}
	}
	return done, nil
}

// leaveEra goes for the snapshots first: their collections still tell then that they
// are of before.
func (s *Service) leaveEra(ctx context.Context, tenant domain.TenantID, n domain.Number, restore domain.RestoreID, done *Reconciled) error {
	entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{n}, Purpose: tenancy.Restore}
	run := func(sql string, args ...any) (rows int64, err error) {
		err = tenancy.Run(ctx, s.router.Database(n), entry, func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sql, append([]any{int16(n), restore}, args...)...).Exec(func(tag pgconn.CommandTag) error {
				rows = tag.RowsAffected()
				return nil
			})
			return tx.Send(ctx)
		})
		return rows, err
	}
	snapshots, err := run(sqlForgetSnapshots, time.Now())
	if err != nil {
		return err
	}
	done.Snapshots += snapshots
	for {
		collections, err := run(sqlLeaveEra, domain.RandomID[domain.TokenKind](), reconcilePage)
		if err != nil {
			return err
		}
		done.Collections += collections
		if collections < reconcilePage {
			return nil
		}
	}
}
