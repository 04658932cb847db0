package jobs

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// migrationGauges are read from the databases at each scrape, like the sweeps'.
type migrationGauges struct {
	open     metric.Int64ObservableGauge
	age      metric.Float64ObservableGauge
	deferred metric.Int64ObservableGauge
	waiting  metric.Float64ObservableGauge
}

func newMigrationGauges(meter metric.Meter) (g migrationGauges, err error) {
	if g.open, err = meter.Int64ObservableGauge("holdfast.migration.open", metric.WithUnit("{migration}"),
		metric.WithDescription("Migrations that are not over, by state.")); err != nil {
		return g, err
	}
	if g.age, err = meter.Float64ObservableGauge("holdfast.migration.state.age", metric.WithUnit("s"),
		metric.WithDescription("How long the migration has been in a state that has been in it for longest.")); err != nil {
		return g, err
	}
	if g.deferred, err = meter.Int64ObservableGauge("holdfast.migration.unresolved", metric.WithUnit("{section}"),
		metric.WithDescription("Sections that no pass could move, and that wait for a decision, by database.")); err != nil {
		return g, err
	}
	g.waiting, err = meter.Float64ObservableGauge("holdfast.migration.unresolved.age", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest of them has waited."))
	return g, err
}

// migrationObserver answers scrapes.
type migrationObserver struct {
	Options
	migrationGauges
}

// observeMigrations registers the gauges. One that can't be read is missing from a
// scrape, and the log says why.
func observeMigrations(meter metric.Meter, o Options) error {
	g, err := newMigrationGauges(meter)
	if err != nil {
		return err
	}
	seen := &migrationObserver{o, g}
	_, err = meter.RegisterCallback(seen.observe, g.open, g.age, g.deferred, g.waiting)
	return err
}

func (o *migrationObserver) observe(ctx context.Context, to metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	o.observeStates(ctx, to)
	for _, db := range o.Databases {
		o.observeUnresolved(ctx, to, db.Name)
	}
	return nil
}

// observeStates tells of every state that isn't over, so that an alert on one that
// nobody is in has a 0 to look at.
func (o *migrationObserver) observeStates(ctx context.Context, to metric.Observer) {
	counts, err := o.Migrations.States(ctx)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "where migrations stand can't be read", "error", err)
		return
	}
	found := map[migration.State]migration.StateCount{}
	for _, s := range counts {
		found[s.State] = s
	}
	for _, state := range migration.OpenStates() {
		labels := metric.WithAttributes(attribute.String("state", string(state)))
		count, age := found[state], 0.0
		if count.Count > 0 {
			age = secondsSince(count.Since)
		}
		to.ObserveInt64(o.open, count.Count, labels)
		to.ObserveFloat64(o.age, age, labels)
	}
}

func (o *migrationObserver) observeUnresolved(ctx context.Context, to metric.Observer, database string) {
	u, err := o.Migrations.Unresolved(ctx, database)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "what migrations have deferred can't be read", "database", database, "error", err)
		return
	}
	age := 0.0
	if u.Oldest != nil {
		age = secondsSince(*u.Oldest)
	}
	labels := metric.WithAttributes(attribute.String("database", database))
	to.ObserveInt64(o.deferred, u.Sections, labels)
	to.ObserveFloat64(o.waiting, age, labels)
}
