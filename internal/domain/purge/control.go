package purge

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	sqlEnterControl = `SELECT enter_control($1)`
	sqlPurgeControl = `SELECT name, deleted FROM purge_control($1)`
)

// purgeControl does one pass over the tenant's own rows in the control database. They
// go in the transaction that counts them.
func (s *Service) purgeControl(ctx context.Context, p *purge) error {
	return s.tenants.Purging(ctx, p.tenant, func(ctx context.Context, tx pgx.Tx) error {
		deleted, err := purgeControlTx(ctx, tx, p)
		if err != nil {
			return err
		}
		for name, rows := range deleted {
			p.control[name] += rows
		}
		if len(deleted) == 0 {
			p.step = s.next(p.step)
		}
		return s.saveTx(ctx, tx, p)
	})
}

func purgeControlTx(ctx context.Context, tx pgx.Tx, p *purge) (deleted map[string]int64, err error) {
	if _, err := tx.Exec(ctx, sqlEnterControl, p.tenant); err != nil {
		return nil, err
	}
	deleted = map[string]int64{}
	rows, _ := tx.Query(ctx, sqlPurgeControl, passRows)
	var name string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { deleted[name] = n; return nil }); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, sqlEnterControl, tenancy.Operators)
	return deleted, err
}
