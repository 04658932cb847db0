package jobs

import (
	"context"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// tenantObserver tells how many tenants there are, and whether the purges of those
// whose grace is over come on.
type tenantObserver struct {
	Options
	tenants metric.Int64ObservableGauge
	stalled metric.Int64ObservableGauge
	stepAge metric.Float64ObservableGauge
}

// observeTenants registers the gauges. Those that can't be read are missing from a
// scrape, and the log says why.
func observeTenants(meter metric.Meter, o Options) (err error) {
	seen := &tenantObserver{Options: o}
	if seen.tenants, err = meter.Int64ObservableGauge("holdfast.tenants", metric.WithUnit("{tenant}"),
		metric.WithDescription("Tenants, by state.")); err != nil {
		return err
	}
	if seen.stalled, err = meter.Int64ObservableGauge("holdfast.purge.stalled", metric.WithUnit("{purge}"),
		metric.WithDescription("Purges whose last step could not be done, of tenants that are not held.")); err != nil {
		return err
	}
	if seen.stepAge, err = meter.Float64ObservableGauge("holdfast.purge.step.age", metric.WithUnit("s"),
		metric.WithDescription("How long ago the last step was done of the purge that has not come on for longest, though it could.")); err != nil {
		return err
	}
	_, err = meter.RegisterCallback(seen.observe, seen.tenants, seen.stalled, seen.stepAge)
	return err
}

const (
	sqlTenantStates = `SELECT t.state, count(*) FROM tenants t GROUP BY t.state`

	// sqlPurges is about the tenants that tenancy.Store.PurgesDue gives. One whose purge
	// has not begun counts from the end of its grace, and one that has waited for
	// uploads from the end of that.
	sqlPurges = `
SELECT count(*) FILTER (WHERE p.stalled IS NOT NULL),
       COALESCE(max(GREATEST(extract(epoch FROM clock_timestamp() - COALESCE(GREATEST(p.stepped_at, p.settled_at), d.purge_after)), 0)), 0)::float8
  FROM tenant_deletions d
  JOIN tenants t ON t.tenant_id = d.tenant_id
  LEFT JOIN tenant_purges p ON p.tenant_id = d.tenant_id
 WHERE t.held_at IS NULL AND d.purge_after <= clock_timestamp() AND p.purged_at IS NULL
       AND (p.step = 'wait' AND p.settled_at > clock_timestamp()) IS NOT TRUE
    OR p.step = 'close'`
)

func (o *tenantObserver) observe(ctx context.Context, to metric.Observer) error {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	err := asOperator(ctx, o.Control, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlTenantStates).Query(func(rows pgx.Rows) error { return o.observeStates(rows, to) })
		batch.Queue(sqlPurges).QueryRow(func(row pgx.Row) error {
			var stalled int64
			var age float64
			if err := row.Scan(&stalled, &age); err != nil {
				return err
			}
			to.ObserveInt64(o.stalled, stalled)
			to.ObserveFloat64(o.stepAge, age)
			return nil
		})
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		o.Telemetry.Log.WarnContext(ctx, "where tenants stand can't be read", "error", err)
	}
	return nil
}

// observeStates tells of every state, also of one that no tenant is in.
func (o *tenantObserver) observeStates(rows pgx.Rows, to metric.Observer) error {
	counts := map[string]int64{
		tenancy.TenantProvisioning: 0, tenancy.TenantActive: 0, tenancy.TenantSuspended: 0,
		tenancy.TenantDeleting: 0, tenancy.TenantPurging: 0, tenancy.TenantPurged: 0,
	}
	var state string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&state, &n}, func() error { counts[state] = n; return nil }); err != nil {
		return err
	}
	for state, n := range counts {
		to.ObserveInt64(o.tenants, n, metric.WithAttributes(attribute.String("state", state)))
	}
	return nil
}
