package main

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// migrationMemory is for the bodies of migrations' passes, of 8 MiB each. A run
// prepares a pass while the one before commits, and two runs go at once: of two
// tenants each, since one tenant's share is half of what is for large bodies, and
// that is seven eighths of this.
const migrationMemory = 40 << 20

// migrations moves bodies. Its records are of open tenants only, and have memory of
// their own, so that snapshots and moves don't wait for each other.
func (w *worker) migrations(c config.Config, store *tenancy.Store, leases *lease.Service, memory *record.Memory) *migration.Service {
	records := record.New(w.router, leases, w.bodyStore(), record.Options{
		Tracing: w.tel.Tracers, Memory: memory, Log: w.tel.Log,
	})
	return migration.New(w.router, store, records, migration.Options{
		Build: telemetry.Build(), Place: migration.PlaceOf(c.Bodies.Endpoint, c.Bodies.Bucket), Log: w.tel.Log,
	})
}

// report has the worker report itself until it has stopped working.
func (w *worker) report(ctx context.Context, moves *migration.Service) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		moves.RunReports(ctx, moves.This(migration.ProcessWorker))
	}()
	w.stopReports = func() { cancel(); <-done }
}
