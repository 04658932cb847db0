package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const sqlCancelDeletion = `DELETE FROM tenant_deletions WHERE tenant_id = $1 RETURNING former_state`

// CancelDeletion calls a deletion off, whether it is approved or not, for as long as
// its purge hasn't begun. The tenant is as it was before. Calling off what was never
// asked for changes nothing, and finishes what an error had interrupted.
//
// Errors: forbidden; not found tenant_not_found; conflict tenant_purged; unavailable;
// outcome unknown. Whoever gets one of the last two repeats it.
func (s *Store) CancelDeletion(ctx context.Context, caller Scope, id domain.TenantID) (Tenant, error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	return s.decideGates(ctx, id, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		if t.State == TenantPurging || t.State == TenantPurged {
			return Tenant{}, errPurged()
		}
		return s.cancelDeletionTx(ctx, tx, t, s.now())
	})
}

func (s *Store) cancelDeletionTx(ctx context.Context, tx pgx.Tx, t Tenant, now time.Time) (Tenant, error) {
	var former string
	err := tx.QueryRow(ctx, sqlCancelDeletion, t.ID).Scan((*zeronull.Text)(&former))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return t, nil
	case err != nil:
		return Tenant{}, err
	case former == "":
		return touchTenantTx(ctx, tx, t.ID, now)
	default:
		return s.setTenantStateTx(ctx, tx, t.ID, former, now)
	}
}
