package telemetry

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"
)

// poolMetrics are those of the semantic conventions, and how often and how long
// callers have waited for a connection. pgx adds the waiting up, so that it costs
// a caller nothing to tell; the conventions would have a histogram of it.
type poolMetrics struct {
	count    dbconv.ClientConnectionCountObservable
	most     dbconv.ClientConnectionMaxObservable
	timeouts dbconv.ClientConnectionTimeoutsObservable
	waits    metric.Int64ObservableCounter
	waited   metric.Float64ObservableCounter
}

func newPoolMetrics(meter metric.Meter) (m poolMetrics, err error) {
	if m.count, err = dbconv.NewClientConnectionCountObservable(meter); err != nil {
		return m, err
	}
	if m.most, err = dbconv.NewClientConnectionMaxObservable(meter); err != nil {
		return m, err
	}
	if m.timeouts, err = dbconv.NewClientConnectionTimeoutsObservable(meter); err != nil {
		return m, err
	}
	if m.waits, err = meter.Int64ObservableCounter("holdfast.db.pool.waits", metric.WithUnit("{wait}"),
		metric.WithDescription("How often somebody found no connection free, and waited for one.")); err != nil {
		return m, err
	}
	m.waited, err = meter.Float64ObservableCounter("holdfast.db.pool.waited", metric.WithUnit("s"),
		metric.WithDescription("How long all of them have waited together."))
	return m, err
}

// Turns are those that tenants take at a pool's connections.
type Turns interface {
	// Waits tells how often somebody waited for one, how often in vain, and how long
	// all of them have together.
	Waits() (times, givenUp int64, together time.Duration)
}

// ObservePool reports a pool's connections: how many there are, how many are in
// use, and how long callers wait for one: in the pool's own line, and for the turns
// that tenants take at it. name is the database's.
func (t *Telemetry) ObservePool(name string, pool *pgxpool.Pool, turns Turns) error {
	meter := t.Meters.Meter("github.com/holdfast-dev/holdfast/internal/telemetry")
	m, err := newPoolMetrics(meter)
	if err != nil {
		return err
	}
	labels := m.count.AttrClientConnectionPoolName(name)
	all := metric.WithAttributeSet(attribute.NewSet(labels))
	used := metric.WithAttributeSet(attribute.NewSet(labels, m.count.AttrClientConnectionState(dbconv.ClientConnectionStateUsed)))
	idle := metric.WithAttributeSet(attribute.NewSet(labels, m.count.AttrClientConnectionState(dbconv.ClientConnectionStateIdle)))
	_, err = meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		stat := pool.Stat()
		times, givenUp, together := turns.Waits()
		to.ObserveInt64(m.count.Inst(), int64(stat.AcquiredConns()), used)
		to.ObserveInt64(m.count.Inst(), int64(stat.IdleConns()), idle)
		to.ObserveInt64(m.most.Inst(), int64(stat.MaxConns()), all)
		to.ObserveInt64(m.timeouts.Inst(), stat.CanceledAcquireCount()+givenUp, all)
		to.ObserveInt64(m.waits, stat.EmptyAcquireCount()+times, all)
		to.ObserveFloat64(m.waited, (stat.EmptyAcquireWaitTime() + together).Seconds(), all)
		return nil
	}, m.count.Inst(), m.most.Inst(), m.timeouts.Inst(), m.waits, m.waited)
	return err
}
