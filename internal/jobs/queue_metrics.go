package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// observeTimeout bounds what a scrape may cost.
const observeTimeout = 2 * time.Second

// gauges are read from the control database at each scrape. All workers report
// the same depths and ages: dashboards take the greatest.
type gauges struct {
	depth   metric.Int64ObservableGauge
	oldest  metric.Float64ObservableGauge
	overdue metric.Float64ObservableGauge
	leader  metric.Int64ObservableGauge
}

func newGauges(meter metric.Meter) (g gauges, err error) {
	if g.depth, err = meter.Int64ObservableGauge("holdfast.jobs.depth", metric.WithUnit("{job}"),
		metric.WithDescription("Unfinished jobs, by kind and state.")); err != nil {
		return g, err
	}
	if g.oldest, err = meter.Float64ObservableGauge("holdfast.jobs.oldest", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest unfinished job of a kind has been due.")); err != nil {
		return g, err
	}
	if g.overdue, err = meter.Float64ObservableGauge("holdfast.jobs.schedule.overdue", metric.WithUnit("s"),
		metric.WithDescription("How long the run of a schedule has been due that was served last.")); err != nil {
		return g, err
	}
	g.leader, err = meter.Int64ObservableGauge("holdfast.jobs.leader",
		metric.WithDescription("1 in the worker that leads: River's upkeep runs there."))
	return g, err
}

// observer answers scrapes.
type observer struct {
	Options
	gauges
	clientID string
}

// observeQueue registers the gauges. One that can't be read is missing from a
// scrape, and the log says why.
func observeQueue(meter metric.Meter, o Options, clientID string) error {
	g, err := newGauges(meter)
	if err != nil {
		return err
	}
	seen := &observer{o, g, clientID}
	_, err = meter.RegisterCallback(seen.observe, g.depth, g.oldest, g.overdue, g.leader)
	return err
}

const (
	sqlDepths = `
SELECT kind, state::text, count(*), GREATEST(extract(epoch FROM clock_timestamp() - min(scheduled_at)), 0)::float8
  FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
 GROUP BY kind, state`

	sqlLeads = `SELECT count(*) FROM river_leader WHERE leader_id = $1 AND expires_at > clock_timestamp()`

	sqlOverdue = `
SELECT name, GREATEST(extract(epoch FROM clock_timestamp() - min(next_run_at)), 0)::float8
  FROM schedules GROUP BY name`
)

func (o *observer) observe(ctx context.Context, to metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	err := asOperator(ctx, o.Control, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlDepths).Query(func(rows pgx.Rows) error { return o.observeDepths(rows, to) })
		batch.Queue(sqlLeads, o.clientID).QueryRow(func(row pgx.Row) error {
			var leads int64
			err := row.Scan(&leads)
			to.ObserveInt64(o.leader, leads)
			return err
		})
		batch.Queue(sqlOverdue).Query(func(rows pgx.Rows) error {
			var name string
			var overdue float64
			_, err := pgx.ForEachRow(rows, []any{&name, &overdue}, func() error {
				to.ObserveFloat64(o.overdue, overdue, metric.WithAttributes(attribute.String("schedule", name)))
				return nil
			})
			return err
		})
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "the queue's metrics can't be read", "error", err)
	}
	return nil
}

func (o *observer) observeDepths(rows pgx.Rows, to metric.Observer) error {
	type key struct{ kind, state string }
	depths := map[key]int64{}
	oldest := map[string]float64{}
	for _, kind := range kinds() {
		oldest[kind] = 0
		for _, state := range unfinished() {
			depths[key{kind, string(state)}] = 0
		}
	}
	var k key
	var depth int64
	var age float64
	_, err := pgx.ForEachRow(rows, []any{&k.kind, &k.state, &depth, &age}, func() error {
		depths[k] = depth
		oldest[k.kind] = max(oldest[k.kind], age)
		return nil
	})
	if err != nil {
		return err
	}
	for k, depth := range depths {
		to.ObserveInt64(o.depth, depth, metric.WithAttributes(attribute.String("kind", k.kind), attribute.String("state", k.state)))
	}
	for kind, age := range oldest {
		to.ObserveFloat64(o.oldest, age, metric.WithAttributes(attribute.String("kind", kind)))
	}
	return nil
}
