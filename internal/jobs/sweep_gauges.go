package jobs

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// sweepGauges are read from the data databases at each scrape. As with the
// queue's, all workers report the same.
type sweepGauges struct {
	passAge metric.Float64ObservableGauge
	pending metric.Int64ObservableGauge
	overdue metric.Float64ObservableGauge

	objects, bytes metric.Int64ObservableGauge // that nothing refers to
}

func newSweepGauges(meter metric.Meter) (g sweepGauges, err error) {
	if g.passAge, err = meter.Float64ObservableGauge("holdfast.sweep.pass.age", metric.WithUnit("s"),
		metric.WithDescription("How long ago the last pass ended over the number that waits longest.")); err != nil {
		return g, err
	}
	if g.pending, err = meter.Int64ObservableGauge("holdfast.identity.operations.pending", metric.WithUnit("{operation}"),
		metric.WithDescription("Prepared changes that have not been cleared, by database.")); err != nil {
		return g, err
	}
	if g.overdue, err = meter.Float64ObservableGauge("holdfast.identity.operations.overdue", metric.WithUnit("s"),
		metric.WithDescription("How long the deadline of the oldest of them has passed.")); err != nil {
		return g, err
	}
	if g.objects, err = meter.Int64ObservableGauge("holdfast.record.unreferenced_objects", metric.WithUnit("{object}"),
		metric.WithDescription("Objects of bodies to which nothing has referred for a day, by database, as they were counted last.")); err != nil {
		return g, err
	}
	g.bytes, err = meter.Int64ObservableGauge("holdfast.record.unreferenced_bytes", metric.WithUnit("By"),
		metric.WithDescription("What they take in the object store."))
	return g, err
}

// sweepObserver answers scrapes.
type sweepObserver struct {
	Options
	sweepGauges
}

// observeSweeps registers the gauges, and those of purges, which are upkeep too. One
// that can't be read is missing from a scrape, and the log says why.
func observeSweeps(meter metric.Meter, o Options) error {
	g, err := newSweepGauges(meter)
	if err != nil {
		return err
	}
	seen := &sweepObserver{o, g}
	_, err = meter.RegisterCallback(seen.observe, g.passAge, g.pending, g.overdue, g.objects, g.bytes)
	return errors.Join(err, observeTenants(meter, o))
}

func (o *sweepObserver) observe(ctx context.Context, to metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	progress, err := o.Identity.SweepProgress(ctx)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "the sweeps' progress can't be read", "error", err)
	}
	ofRecords, err := o.Records.SweepProgress(ctx)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "the progress of the records' upkeep can't be read", "error", err)
	}
	for _, p := range ofRecords {
		progress = append(progress, identity.SweepProgress(p))
	}
	ofWorlds, err := o.Leases.SweepProgress(ctx)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "the progress of the checkpoints can't be read", "error", err)
	}
	for _, p := range ofWorlds {
		progress = append(progress, identity.SweepProgress(p))
	}
	for labels, ended := range oldestPasses(progress, o.Databases) {
		to.ObserveFloat64(o.passAge, secondsSince(ended), metric.WithAttributeSet(labels))
	}
	for _, db := range o.Databases {
		o.observeBacklog(ctx, to, db.Name)
		o.observeUnreferenced(ctx, to, db.Name)
	}
	return nil
}

func (o *sweepObserver) observeUnreferenced(ctx context.Context, to metric.Observer, database string) {
	u, err := o.Records.Unreferenced(ctx, database)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "the count of unreferenced objects can't be read", "database", database, "error", err)
		return
	}
	labels := metric.WithAttributes(attribute.String("database", database))
	to.ObserveInt64(o.objects, u.Objects, labels)
	to.ObserveInt64(o.bytes, u.Bytes, labels)
}

func (o *sweepObserver) observeBacklog(ctx context.Context, to metric.Observer, database string) {
	backlog, err := o.Identity.Backlog(ctx, database)
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "the backlog can't be read", "database", database, "error", err)
		return
	}
	overdue := 0.0
	if backlog.OldestDeadline != nil {
		overdue = secondsSince(*backlog.OldestDeadline)
	}
	labels := metric.WithAttributes(attribute.String("database", database))
	to.ObserveInt64(o.pending, backlog.Pending, labels)
	to.ObserveFloat64(o.overdue, overdue, labels)
}

// secondsSince is 0 for what is to come, and for a clock that is behind the
// database's.
func secondsSince(t time.Time) float64 { return max(time.Since(t).Seconds(), 0) }

// oldestPasses gives, by kind and family, the end of the last pass over the
// number that waits longest. A sweep that has not been over every number once
// has none.
func oldestPasses(progress []identity.SweepProgress, databases []*postgres.Database) map[attribute.Set]time.Time {
	numbers := map[string]int{}
	for _, db := range databases {
		numbers[db.Name] = len(db.Numbers)
	}
	oldest := map[attribute.Set]time.Time{}
	incomplete := map[attribute.Set]bool{}
	for _, p := range progress {
		labels := attribute.NewSet(attribute.String("kind", p.Kind), attribute.String("family", string(p.Family)))
		if p.OldestPass == nil || p.Numbers < numbers[p.Database] {
			incomplete[labels] = true
		} else if known, ok := oldest[labels]; !ok || p.OldestPass.Before(known) {
			oldest[labels] = *p.OldestPass
		}
	}
	for labels := range incomplete {
		delete(oldest, labels)
	}
	return oldest
}
