package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// tableObserver tells of each database's tables what PostgreSQL counts of them
// anyway, and shows any role.
type tableObserver struct {
	Options
	live, dead metric.Int64ObservableGauge
}

// observeTables registers the gauges. Those of a database that can't be asked are
// missing from a scrape, and the log says why.
func observeTables(meter metric.Meter, o Options) (err error) {
	seen := &tableObserver{Options: o}
	if seen.live, err = meter.Int64ObservableGauge("holdfast.db.tuples.live", metric.WithUnit("{row}"),
		metric.WithDescription("Rows of a table, as PostgreSQL estimates them.")); err != nil {
		return err
	}
	if seen.dead, err = meter.Int64ObservableGauge("holdfast.db.tuples.dead", metric.WithUnit("{row}"),
		metric.WithDescription("Dead rows of a table, which wait for a vacuum.")); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(seen.observe, seen.live, seen.dead)
	return err
}

// controlName is the control database, as the pools' metrics name it.
const controlName = "control"

func (o *tableObserver) observe(ctx context.Context, to metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	o.observeOn(ctx, to, controlName, o.Control)
	for _, db := range o.Databases {
		o.observeOn(ctx, to, db.Name, db.Pool)
	}
	return nil
}

const sqlTables = `SELECT relname::text, n_live_tup, n_dead_tup FROM pg_stat_user_tables WHERE schemaname = 'public'`

func (o *tableObserver) observeOn(ctx context.Context, to metric.Observer, database string, pool *pgxpool.Pool) {
	rows, _ := pool.Query(ctx, sqlTables)
	var table string
	var live, dead int64
	_, err := pgx.ForEachRow(rows, []any{&table, &live, &dead}, func() error {
		labels := metric.WithAttributes(attribute.String("database", database), attribute.String("table", table))
		to.ObserveInt64(o.live, live, labels)
		to.ObserveInt64(o.dead, dead, labels)
		return nil
	})
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "what PostgreSQL counts of tables can't be read", "database", database, "error", err)
	}
}
