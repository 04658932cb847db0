package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const sqlEnterOperator = `SELECT enter_control($1)`

// asOperator runs fn in a transaction of the control database that sees what
// belongs to no tenant.
func asOperator(ctx context.Context, control *pgxpool.Pool, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, control, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEnterOperator, domain.TenantID{}); err != nil {
			return err
		}
		return fn(tx)
	})
}
