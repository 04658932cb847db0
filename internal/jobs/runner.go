package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Queues, so that a long cleanup keeps no sweep waiting, and nothing keeps leases
// that are over.
const (
	queueSweeps    = "sweeps"
	queueCleanup   = "cleanup"
	queueLeases    = "leases"
	queueWorlds    = "worlds" // what can wait a little of them
	queueRecords   = "records"
	queueSnapshots = "snapshots"
	queueScrubs    = "scrubs"
	queueWatch     = "migrations" // the runs have queues of their own
	queueTenants   = "tenants"
	queueStocks    = "stocks"
)

// Options are what a Runner works with.
type Options struct {
	Control      *pgxpool.Pool        // the control database, as the worker
	Databases    []*postgres.Database // the data databases
	Pooler       bool                 // a transaction-mode pooler stands between: poll, since LISTEN is lost there
	Telemetry    *telemetry.Telemetry
	Identity     Identity
	Leases       Leases
	Records      Records
	Migrations   Migrations
	Purges       Purges
	Stocks       Stocks
	Build        string        // of this process: the migrations' runs of another are not its work
	SweepEvery   time.Duration // the time between two runs of a database's sweeps
	CleanupEvery time.Duration // and of its cleanup; DefaultCleanupEvery if 0
	RunBudget    time.Duration // no step of a run begins after it; DefaultRunBudget if 0
	Drain        time.Duration // what Stop gives steps under way; 0 cancels them at once
}

// Runner works the jobs and serves their schedules: it is the worker's.
type Runner struct {
	client    *client
	scheduler *Scheduler
	log       *slog.Logger
	drain     time.Duration

	stopping    chan struct{} // tells runs to end with their step
	serving     sync.WaitGroup
	stopServing context.CancelFunc // ends the serving of schedules
}

// NewRunner makes a runner. It reads and writes nothing yet.
func NewRunner(o Options) (*Runner, error) {
	if o.SweepEvery <= 0 {
		return nil, fmt.Errorf("the sweep can't come every %v", o.SweepEvery)
	}
	if o.CleanupEvery == 0 {
		o.CleanupEvery = DefaultCleanupEvery
	}
	if o.RunBudget == 0 {
		o.RunBudget = DefaultRunBudget
	}
	meter := o.Telemetry.Meters.Meter("github.com/holdfast-dev/holdfast/internal/jobs")
	metrics, err := newSweepMetrics(meter)
	if err != nil {
		return nil, err
	}
	r := &Runner{log: o.Telemetry.Log, drain: o.Drain, stopping: make(chan struct{}), stopServing: func() {}}
	shared := &sweeping{domain: o.Identity, budget: o.RunBudget, metrics: metrics, log: o.Telemetry.Log, stopping: r.stopping}
	workers := river.NewWorkers()
	if err := errors.Join(
		river.AddWorkerSafely(workers, newIdentitySweeper(shared, o.Databases)),
		river.AddWorkerSafely(workers, newIdentityCleaner(shared, o.Databases)),
		river.AddWorkerSafely(workers, newNumbersWorker[LeaseSweep](newLeaseTask(shared, o, lease.TaskSettle))),
		river.AddWorkerSafely(workers, newNumbersWorker[LeaseCheckpoint](newLeaseTask(shared, o, lease.TaskCheckpoints))),
		river.AddWorkerSafely(workers, newNumbersWorker[LeaseHeat](newLeaseTask(shared, o, lease.TaskHeat))),
		river.AddWorkerSafely(workers, newSnapshotter(shared, o)),
		river.AddWorkerSafely(workers, newRecordCleaner(shared, o)),
		river.AddWorkerSafely(workers, newRecordObjects(shared, o)),
		river.AddWorkerSafely(workers, newRunWorker(shared, o)),
		river.AddWorkerSafely(workers, newScrubWorker(shared, o)),
		river.AddWorkerSafely(workers, newAuditCutter(shared, o.Control)),
		river.AddWorkerSafely(workers, &watcher{migrations: o.Migrations, control: o.Control}),
		river.AddWorkerSafely(workers, &purger{sweeping: shared, purges: o.Purges}),
		river.AddWorkerSafely(workers, &stockCounter{sweeping: shared, stocks: o.Stocks, here: withNumbers(o.Databases)}),
	); err != nil {
		return nil, err
	}
	if r.client, err = newClient(o.Control, workingConfig(o, workers)); err != nil {
		return nil, err
	}
	r.scheduler = newScheduler(o.Control, r.client, o.Telemetry.Log, schedulesOf(o))
	return r, errors.Join(observeQueue(meter, o, r.client.ID()), observeSweeps(meter, o), observeMigrations(meter, o), observeTables(meter, o))
}

func schedulesOf(o Options) []Schedule {
	schedules := []Schedule{{MigrationWatch{}, scheduleOfAll, watchEvery}, {AuditCut{}, scheduleOfAll, auditEvery}, {TenantPurge{}, scheduleOfAll, purgeEvery}}
	for _, db := range o.Databases {
		if len(db.Numbers) > 0 {
			schedules = append(schedules,
				Schedule{IdentitySweep{db.Name}, db.Name, o.SweepEvery},
				Schedule{IdentityCleanup{db.Name}, db.Name, o.CleanupEvery},
				Schedule{LeaseSweep{db.Name}, db.Name, o.SweepEvery},
				Schedule{LeaseCheckpoint{db.Name}, db.Name, checkpointEvery},
				Schedule{LeaseHeat{db.Name}, db.Name, heatEvery},
				Schedule{RecordSnapshot{db.Name}, db.Name, snapshotEvery},
				Schedule{RecordCleanup{db.Name}, db.Name, o.CleanupEvery},
				Schedule{RecordObjects{db.Name}, db.Name, objectsEvery},
				Schedule{StockCount{db.Name}, db.Name, countStocksEvery})
		}
	}
	return schedules
}

func workingConfig(o Options, workers *river.Workers) *river.Config {
	config := baseConfig(o.Telemetry)
	config.Plugins = append(config.Plugins, &jobContext{log: o.Telemetry.Log}) // inside the span of the work
	config.ErrorHandler = &errorHandler{log: o.Telemetry.Log}
	config.Workers = workers
	perDatabase := river.QueueConfig{MaxWorkers: max(len(o.Databases), 1)}
	config.Queues = map[string]river.QueueConfig{
		queueSweeps: perDatabase, queueCleanup: perDatabase, queueLeases: perDatabase, queueWorlds: perDatabase,
		queueRecords: perDatabase, queueSnapshots: perDatabase,
		queueWatch: {MaxWorkers: 1}, queueTenants: {MaxWorkers: 1}, queueStocks: perDatabase, queueScrubs: {MaxWorkers: scrubSlices}, queueOfRuns(o.Build): {MaxWorkers: runSlices},
	}
	config.PollOnly = o.Pooler
	config.JobTimeout = jobTimeout
	config.RescueStuckJobsAfter = rescueAfter
	config.SoftStopTimeout = max(o.Drain, time.Millisecond) // 0 would be none
	config.CompletedJobRetentionPeriod = keepFinished
	config.CancelledJobRetentionPeriod = keepFailed
	config.DiscardedJobRetentionPeriod = keepFailed
	config.ReindexerIndexNames = []string{} // an index is reindexed by its owner, which no serving role is
	return config
}

// Start writes the schedules down and begins to work. It returns when both are
// under way; what runs then doesn't end with ctx but with Stop.
func (r *Runner) Start(ctx context.Context) error {
	if err := r.scheduler.Register(ctx); err != nil {
		return fmt.Errorf("schedules: %w", err)
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.client.Start(ctx); err != nil {
		return err
	}
	ctx, r.stopServing = context.WithCancel(ctx)
	r.serving.Go(func() { r.scheduler.Run(ctx) })
	return nil
}

// Stop lets the steps under way end, for as long as Options.Drain allows, and
// leaves the rest of their runs to other workers. It is called once; ctx bounds
// the whole.
func (r *Runner) Stop(ctx context.Context) error {
	r.stopServing()
	r.serving.Wait()
	close(r.stopping)
	r.log.InfoContext(ctx, "steps under way may end", "within", r.drain)
	if r.drain == 0 {
		return r.client.StopAndCancel(ctx)
	}
	return r.client.Stop(ctx)
}
