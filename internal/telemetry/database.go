package telemetry

import (
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// QueryTracer reports statements: spans with their text, which names columns
// and numbers its arguments, and never with the arguments; and
// db.client.operation.duration.
func (t *Telemetry) QueryTracer() pgx.QueryTracer {
	return otelpgx.NewTracer(
		otelpgx.WithTracerProvider(t.Tracers),
		otelpgx.WithMeterProvider(t.Meters),
		otelpgx.WithDisableConnectionDetailsInAttributes(),
		otelpgx.WithDisableAcquireTracer(), // ObservePool tells the waiting, for less
	)
}

// ObservePool reports a pool's connections: how many there are, how many are in
// use, and how long callers wait for one. name is the database's.
func (t *Telemetry) ObservePool(name string, pool *pgxpool.Pool) error {
	return otelpgx.RecordStats(pool,
		otelpgx.WithStatsMeterProvider(t.Meters),
		otelpgx.WithStatsAttributes(semconv.DBClientConnectionPoolName(name)),
	)
}
