package migration

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Whether a pass could take any row that is left: one of a record that isn't passed
// over, and in SQL up to the frontier. So a sweep that meets such a row moves it,
// defers it, or loses it to a publication.
const (
	sqlMovableInSQL = `
SELECT EXISTS (SELECT FROM sections_in_sql s` + ofARecord + `
                WHERE s.number::integer = $2::smallint::integer AND s.tenant_id = $1 AND s.collection_id = $3
                  AND s.row_identity <= $4` + notPassedOver + `)`
	sqlMovableInStore = `
SELECT EXISTS (SELECT FROM sections_in_store s` + ofARecord + `
                WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3` + notPassedOver + `)`

	ofARecord = `
                CROSS JOIN LATERAL (SELECT FROM records r
                                     WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3 AND r.item_key = s.item_key LIMIT 1) r`
	notPassedOver = `
                  AND NOT EXISTS (SELECT FROM migration_deferred d
                                   WHERE d.tenant_id = $1 AND d.number = $2 AND d.collection_id = $3 AND d.item_key = s.item_key
                                  HAVING NOT bool_or(d.retry))`
)

// movable tells whether a sweep that has moved nothing may be followed by one that
// does: its records have only lost to publications, of their other sections say. It
// looks without the collection's lock, since with much that is deferred it takes a
// while.
func (m *mover) movable(ctx context.Context) (some bool, err error) {
	sql, args := sqlMovableInStore, []any{int16(m.at.number), m.at.CollectionID}
	if m.at.Kind != Rehydrate {
		sql, args = sqlMovableInSQL, append(args, m.at.Frontier)
	}
	e := m.entry(m.tenant, m.at.number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, m.router.Database(m.at.number), e, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sql, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&some) })
		return nil
	})
	return some, err
}
