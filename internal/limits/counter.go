package limits

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	// countEvery is the time between two counts of a tenant on a database, or
	// countShare times what one took, if that is longer, up to countAtLeastEvery.
	countEvery        = time.Minute
	countShare        = 100
	countAtLeastEvery = time.Hour
	// countWithin bounds one count.
	countWithin = 20 * time.Second
)

// Stocks counts what a tenant has on a database of what its domain keeps.
type Stocks interface {
	CountStocks(ctx context.Context, database string, tenant domain.TenantID) (map[domain.Stock]int64, error)
}

// Counter counts tenants' stocks: it is the worker's.
type Counter struct {
	control *pgxpool.Pool
	domains []Stocks
}

// NewCounter makes a counter of what these domains keep.
func NewCounter(control *pgxpool.Pool, domains ...Stocks) *Counter { return &Counter{control, domains} }

const (
	sqlEnterControlWrite = `SELECT enter_control_write($1)`
	sqlEnterOperator     = `SELECT enter_control('00000000-0000-0000-0000-000000000000')`
	sqlToCount           = `SELECT tenants_to_count($1, $2)`
)

// Due gives tenants whose count on a database is due, the longest due first.
func (c *Counter) Due(ctx context.Context, database string, limit int) (due []domain.TenantID, err error) {
	err = pgx.BeginTxFunc(ctx, c.control, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEnterOperator); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlToCount, database, limit)
		due, err = pgx.CollectRows(rows, pgx.RowTo[domain.TenantID])
		return err
	})
	return due, postgres.Classify(err)
}

const (
	sqlNow = `SELECT clock_timestamp()`

	// sqlCounted keeps a later count that another worker made meanwhile.
	sqlCounted = `
INSERT INTO tenant_usage AS u (tenant_id, database, accounts, devices, worlds, body_bytes, counted_at, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (tenant_id, database) DO UPDATE
   SET accounts = excluded.accounts, devices = excluded.devices, worlds = excluded.worlds, body_bytes = excluded.body_bytes,
       counted_at = excluded.counted_at, due_at = excluded.due_at
 WHERE u.counted_at IS NULL OR u.counted_at < excluded.counted_at`

	// sqlUncounted leaves what was counted before, and lets others go first.
	sqlUncounted = `
INSERT INTO tenant_usage AS u (tenant_id, database, accounts, devices, worlds, body_bytes, due_at)
VALUES ($1, $2, 0, 0, 0, 0, $3)
ON CONFLICT (tenant_id, database) DO UPDATE SET due_at = excluded.due_at WHERE u.due_at < excluded.due_at`
)

// Count counts a tenant on a database, and keeps that. A tenant that can't be
// counted, being closed, say, is due again as if it had been. A crash leaves the
// count before.
//
// Errors: the domain's; forbidden tenant_closed for one whose purge began meanwhile, of
// which nothing is kept; unavailable, outcome unknown.
func (c *Counter) Count(ctx context.Context, database string, tenant domain.TenantID) error {
	began, err := c.clock(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	var has Usage
	counting, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	for _, d := range c.domains {
		stocks, err := d.CountStocks(counting, database, tenant)
		if err != nil {
			return firstOf(err, c.write(ctx, tenant, sqlUncounted, tenant, database, dueAfter(began, time.Since(start))))
		}
		for stock, n := range stocks {
			*has.of(stock) += n
		}
	}
	due := dueAfter(began, time.Since(start))
	return c.write(ctx, tenant, sqlCounted, tenant, database, has.Accounts, has.Devices, has.Worlds, has.BodyBytes, began, due)
}

// dueAfter is when a count is due behind one that took so long, whether or not it came
// to its end: one that is too long for countWithin must not be what the counter does.
func dueAfter(began time.Time, took time.Duration) time.Time {
	return began.Add(took + min(max(countEvery, countShare*took), countAtLeastEvery))
}

func firstOf(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (c *Counter) clock(ctx context.Context) (now time.Time, err error) {
	err = c.control.QueryRow(ctx, sqlNow).Scan(&now)
	return now, postgres.Classify(err)
}

// write refuses a tenant that is being purged, or was: a row that came behind the
// purge would stay for good.
func (c *Counter) write(ctx context.Context, tenant domain.TenantID, statement string, args ...any) error {
	err := pgx.BeginFunc(ctx, c.control, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlEnterControlWrite, tenant); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "HF010" {
		return domain.Forbidden("tenant_closed", "The tenant is not open.").Because(pg)
	}
	return postgres.CommitFailed(err)
}
