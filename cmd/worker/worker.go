package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/purge"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// minPool: River holds a connection to listen on, and works with several.
const minPool = 4

// worker is what the process has open.
type worker struct {
	tel     *telemetry.Telemetry
	private *telemetry.Private // nil where the private port is turned off
	router  *postgres.Router
	bodies  *objectstore.Bucket // nil without an object store
	runner  *jobs.Runner

	stopReports func() // nil while the worker doesn't report itself
}

// start opens everything and begins to work. What it opened is closed again
// when it fails.
func start(ctx context.Context, c config.Config, tel *telemetry.Telemetry) (*worker, error) {
	w := &worker{tel: tel}
	if err := w.start(ctx, c); err != nil {
		return nil, errors.Join(err, w.stop(ctx))
	}
	return w, nil
}

func (w *worker) start(ctx context.Context, c config.Config) (err error) {
	if err := w.open(ctx, c); err != nil {
		return err
	}
	if err := postgres.CheckPooler(ctx, w.router); err != nil {
		return err
	}
	if err := postgres.CheckSchema(ctx, w.router); err != nil {
		return err
	}
	if err := postgres.CheckPlacement(ctx, w.router); err != nil {
		return err
	}
	if err := riverschema.Check(ctx, w.router.Control()); err != nil {
		return err
	}
	if c.MetricsAddress != "" {
		if w.private, err = w.tel.ServePrivate(ctx, c.MetricsAddress); err != nil {
			return fmt.Errorf("private port: %w", err)
		}
	}
	store, err := w.store(c)
	if err != nil {
		return err
	}
	leases := w.leases(store)
	records, movesMemory := w.records(leases), record.NewMemory(migrationMemory)
	if err := errors.Join(
		w.tel.ObservePool("control", w.router.Control(), store.Turns()),
		records.Memory().Observe(w.tel.Meters, "snapshots"),
		movesMemory.Observe(w.tel.Meters, "migrations"),
	); err != nil {
		return err
	}
	moves := w.migrations(c, store, leases, movesMemory)
	w.report(ctx, moves)
	directory := identity.New(w.router, nil, identity.Options{Tracing: w.tel.Tracers}) // its jobs derive no secret
	runner, err := jobs.NewRunner(jobs.Options{
		Control:      w.router.Control(),
		Databases:    w.router.Databases(),
		Pooler:       c.Pooler,
		Telemetry:    w.tel,
		Identity:     directory,
		Leases:       leases,
		Records:      records,
		Migrations:   moves,
		Purges:       purge.New(w.router, store, w.objects(), purge.Options{}),
		Stocks:       limits.NewCounter(w.router.Control(), directory, leases, records),
		Build:        telemetry.Build(),
		SweepEvery:   sweepEvery(c.Environment),
		CleanupEvery: cleanupEvery(c.Environment),
		Drain:        c.Drain,
	})
	if err != nil {
		return err
	}
	if err := runner.Start(ctx); err != nil {
		return err
	}
	w.runner = runner
	return nil
}

func (w *worker) open(ctx context.Context, c config.Config) (err error) {
	settings := c.Postgres()
	settings.PoolSize = max(settings.PoolSize, minPool)
	settings.Tracer = w.tel.QueryTracer()
	if w.router, err = postgres.Open(ctx, settings); err != nil {
		return err
	}
	for _, db := range w.router.Databases() {
		err = errors.Join(err, w.tel.ObservePool(db.Name, db.Pool, db.Turns))
	}
	if err != nil {
		return err
	}
	return w.openBodies(ctx, c)
}

// openBodies asks nothing of the object store: one that is down stops no start.
func (w *worker) openBodies(ctx context.Context, c config.Config) (err error) {
	settings, ok := c.ObjectStore()
	if !ok {
		return nil
	}
	w.bodies, err = objectstore.Open(ctx, settings, objectstore.Options{
		Log: w.tel.Log, Tracers: w.tel.Tracers, Meters: w.tel.Meters,
	})
	return err
}

// store is what the control database has, as the worker reads it.
func (w *worker) store(c config.Config) (*tenancy.Store, error) {
	keys := make([]tenancy.ServerKey, len(c.ServerKeys))
	for i, key := range c.ServerKeys {
		keys[i].ID = key.ID
		copy(keys[i].Secret[:], key.Key.Reveal())
	}
	serverKeys, err := tenancy.NewServerKeys(keys...)
	if err != nil {
		return nil, err
	}
	return tenancy.NewStore(w.router.Control(), tenancy.NewGates(w.router), serverKeys, time.Now), nil
}

// leases is the coordinator as the worker has it: it grants nothing, and so derives
// no lease's secret, but it signs checkpoints.
func (w *worker) leases(store *tenancy.Store) *lease.Service {
	return lease.New(w.router, nil, lease.Options{
		Tracing: w.tel.Tracers, Purpose: tenancy.Maintain, Signer: tenancy.NewCheckpointKeys(store), Log: w.tel.Log,
	})
}

// records is the keeper of records as the worker has it: it makes snapshots, and
// looks after what records leave.
func (w *worker) records(leases *lease.Service) *record.Service {
	return record.New(w.router, leases, w.bodyStore(), record.Options{Tracing: w.tel.Tracers, Purpose: tenancy.Maintain, Log: w.tel.Log})
}

// bodyStore is the object store, or a nil that is no pointer's.
func (w *worker) bodyStore() record.Store {
	if w.bodies == nil {
		return nil
	}
	return w.bodies
}

// objects is the object store as a purge has it, or a nil that is no pointer's.
func (w *worker) objects() purge.Objects {
	if w.bodies == nil {
		return nil
	}
	return w.bodies
}

// sweepEvery is how long unfinished work may lie before the sweep looks again.
// Whoever meets it before that finishes it.
func sweepEvery(e config.Environment) time.Duration {
	if e == config.Development {
		return 2 * time.Second
	}
	return 5 * time.Second
}

// cleanupEvery is how long it may take until what has had its time is removed.
func cleanupEvery(e config.Environment) time.Duration {
	if e == config.Development {
		return time.Minute
	}
	return jobs.DefaultCleanupEvery
}

// address is where the private port listens, or "" without one.
func (w *worker) address() string {
	if w.private == nil {
		return ""
	}
	return w.private.Address()
}

// stop closes what is open, the work first and the telemetry last. The private
// port answers for as long as work is under way.
func (w *worker) stop(ctx context.Context) error {
	err := w.stopWork(ctx)
	if w.private != nil {
		err = errors.Join(err, w.private.Shutdown(ctx))
	}
	return errors.Join(err, w.tel.Shutdown(ctx))
}

func (w *worker) stopWork(ctx context.Context) error {
	if w.runner != nil {
		if err := w.runner.Stop(ctx); err != nil {
			return err // closing the pools would wait for what still works; the process's end doesn't
		}
	}
	if w.stopReports != nil {
		w.stopReports()
	}
	if w.router != nil {
		w.router.Close()
	}
	if w.bodies != nil {
		return w.bodies.Close()
	}
	return nil
}
