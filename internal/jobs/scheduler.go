package jobs

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Bounds of the time between two looks at the table.
const (
	shortestLook = 50 * time.Millisecond
	longestLook  = 5 * time.Second
)

// Scheduler inserts the jobs of schedules when they are due. Any number may run
// at once, one in every worker: a run goes to exactly one of them, and it goes
// on with the others when one stops. The clock is the control database's.
type Scheduler struct {
	control   *pgxpool.Pool
	client    *client
	log       *slog.Logger
	schedules map[scheduleKey]Schedule
}

// scheduleKey names a schedule in the table.
type scheduleKey struct{ name, database string }

// NewScheduler makes a scheduler of its own client, which inserts and works
// nothing.
func NewScheduler(control *pgxpool.Pool, tel *telemetry.Telemetry, schedules ...Schedule) (*Scheduler, error) {
	client, err := newClient(control, baseConfig(tel))
	if err != nil {
		return nil, err
	}
	return newScheduler(control, client, tel.Log, schedules), nil
}

func newScheduler(control *pgxpool.Pool, client *client, log *slog.Logger, schedules []Schedule) *Scheduler {
	s := &Scheduler{control: control, client: client, log: log, schedules: map[scheduleKey]Schedule{}}
	for _, schedule := range schedules {
		s.schedules[scheduleKey{schedule.Job.Kind(), schedule.Database}] = schedule
	}
	return s
}

// sqlRegister: a schedule that became more frequent doesn't wait out its former
// period. Others are left as they are.
const sqlRegister = `
INSERT INTO schedules (name, database, next_run_at, runs)
VALUES ($1, $2, clock_timestamp(), 0)
ON CONFLICT (name, database) DO UPDATE SET next_run_at = $3
 WHERE schedules.next_run_at > $3`

const sqlClock = `SELECT clock_timestamp()`

// Register writes the schedules down where they are new, due at once. Workers
// that know other schedules leave these alone, and these theirs.
func (s *Scheduler) Register(ctx context.Context) error {
	return asOperator(ctx, s.control, func(tx pgx.Tx) error {
		var now time.Time
		if err := tx.QueryRow(ctx, sqlClock).Scan(&now); err != nil {
			return err
		}
		for key, schedule := range s.schedules {
			if _, err := tx.Exec(ctx, sqlRegister, key.name, key.database, now.Add(schedule.Every)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run looks at the table until ctx ends. A failure is logged and met again at
// the next look.
func (s *Scheduler) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait, err := s.Tick(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "schedules can't be served", "error", err)
			wait = time.Second
		}
		// A little chance keeps the workers from looking at the same moment.
		timer.Reset(min(max(wait, shortestLook), longestLook) + rand.N(shortestLook))
	}
}

const sqlSchedules = `SELECT name, database, next_run_at, clock_timestamp() FROM schedules`

// Tick gives every run that is due to a job, unless another worker does, and
// tells how long it is until the next is due. An idle look is one statement in
// one transaction.
func (s *Scheduler) Tick(ctx context.Context) (wait time.Duration, err error) {
	wait = longestLook
	due := map[scheduleKey]time.Time{}
	err = asOperator(ctx, s.control, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlSchedules)
		var key scheduleKey
		var next, now time.Time
		_, err := pgx.ForEachRow(rows, []any{&key.name, &key.database, &next, &now}, func() error {
			schedule, known := s.schedules[key]
			switch {
			case !known:
			case next.After(now):
				wait = min(wait, next.Sub(now))
			default:
				due[key] = next
				wait = min(wait, schedule.next(next, now).Sub(now))
			}
			return nil
		})
		return err
	})
	for key, at := range due {
		if err != nil {
			return 0, err
		}
		err = s.fire(ctx, key, at)
	}
	return wait, err
}

const (
	// sqlTakeRun: who finds the row locked or moved on leaves the run to another.
	sqlTakeRun = `
SELECT FROM schedules WHERE name = $1 AND database = $2 AND next_run_at = $3
   FOR NO KEY UPDATE SKIP LOCKED`

	sqlMoveOn = `
UPDATE schedules SET next_run_at = $4, runs = runs + 1, last_job_id = $5, last_enqueued_at = COALESCE($6, last_enqueued_at)
 WHERE name = $1 AND database = $2 AND next_run_at = $3`
)

// fire gives one run to a job. The job and the next run's time are committed
// together, so a crash leaves the run either given or still due.
func (s *Scheduler) fire(ctx context.Context, key scheduleKey, due time.Time) error {
	return asOperator(ctx, s.control, func(tx pgx.Tx) error {
		taken, err := tx.Exec(ctx, sqlTakeRun, key.name, key.database, due)
		if err != nil || taken.RowsAffected() == 0 {
			return err
		}
		schedule := s.schedules[key]
		job, err := s.client.InsertTx(ctx, tx, schedule.Job, nil)
		if err != nil {
			return err
		}
		var now time.Time
		if err := tx.QueryRow(ctx, sqlClock).Scan(&now); err != nil {
			return err
		}
		enqueued := &now
		if job.UniqueSkippedAsDuplicate {
			enqueued = nil
		}
		// The row is locked and its time was compared, so this can't miss.
		_, err = tx.Exec(ctx, sqlMoveOn, key.name, key.database, due, schedule.next(due, now), job.Job.ID, enqueued)
		return err
	})
}
