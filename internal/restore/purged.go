package restore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// purging leaves a tenant that is being purged to its purge, which stops for a legal
// hold, and counts what it deletes.
func (r *run) purging(ctx context.Context, t tenancy.Tenant) error {
	if len(r.done.Restored) == 0 {
		return nil
	}
	repeated, err := r.store.RepeatPurge(ctx, t.ID)
	if err != nil || !repeated {
		return err
	}
	return r.Note(Note{Tenant: t.ID, Name: t.Name, Kind: "purged",
		Detail: "It is being purged, and the restore may have brought rows of it back. Its purge goes through them once more, unless it is held."})
}

const sqlTenantTables = `SELECT purge_tables()`

// removedRows bounds a transaction of a removal.
const removedRows = 5000

// remove deletes what a restore has brought back of a purged tenant. Its objects are
// gone already: the bucket wasn't restored.
func (r *run) remove(ctx context.Context, tenant domain.TenantID) (removed int64, err error) {
	for _, n := range r.restored.List() {
		db := r.router.Database(n)
		rows, _ := db.Pool.Query(ctx, sqlTenantTables)
		tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return removed, err
		}
		entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{n}, Purpose: tenancy.Restore}
		for _, table := range tables {
			name := pgx.Identifier{table}.Sanitize()
			sql := fmt.Sprintf(`DELETE FROM %s WHERE tenant_id = $1 AND number = $2
                            AND ctid = ANY (ARRAY(SELECT ctid FROM %s WHERE tenant_id = $1 AND number = $2 LIMIT $3))`, name, name)
			for {
				var some int64
				err := tenancy.Run(ctx, db, entry, func(ctx context.Context, tx *tenancy.Tx) error {
					tx.Queue(sql, int16(n), removedRows).Exec(func(tag pgconn.CommandTag) error {
						some = tag.RowsAffected()
						return nil
					})
					return tx.Send(ctx)
				})
				if err != nil {
					return removed, err
				}
				if removed += some; some < removedRows {
					break
				}
			}
		}
	}
	return removed, nil
}
