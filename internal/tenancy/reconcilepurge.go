package tenancy

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// sqlRepeatPurge: objects were counted as they went, and none has come back.
const sqlRepeatPurge = `
UPDATE tenant_purges p SET step = 'rows', turn = turn + 1, next_number = 0, rows = NULL, settled_at = NULL, stalled = NULL
 WHERE p.tenant_id = $1 AND p.step NOT IN ('gates', 'rows', 'close', 'done')`

// RepeatPurge has a purge that is under way go through the tenant's rows once more,
// where a data database was put back: some that were gone may be there again. Whether
// the tenant is held doesn't matter, and the purge heeds that as ever. repeated tells
// that it was past them. It runs as the owner.
func (s *Store) RepeatPurge(ctx context.Context, tenant domain.TenantID) (repeated bool, err error) {
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlRepeatPurge, tenant)
		repeated = tag.RowsAffected() > 0
		return err
	})
	return repeated, err
}
