package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// inTenths has the worker move the records, and measures the bare loop before and
// behind each tenth. A first loop warms up and isn't counted.
func (m *move) inTenths(ctx context.Context, loop round) (times tenthTimes, cost Cost, err error) {
	if _, err := loop(ctx, m.Length); err != nil {
		return times, cost, err
	}
	m.worker.rest()
	m.worker.usage().forgetPeak()
	before, err := m.count(ctx, m.worker)
	if err != nil {
		return times, cost, err
	}
	for i := range tenths {
		if err := times.addLoop(ctx, loop, m.Length); err != nil {
			return times, cost, err
		}
		moved, err := m.moveTo(ctx, m.upTo(i+1))
		if err != nil {
			return times, cost, err
		}
		times.moved = append(times.moved, moved)
		m.Note("moved %d of %d records, %.0f/s; the bare loop had %.0f/s before", m.upTo(i+1), m.Records, moved.Rate(), times.loops[i].Rate())
	}
	peak := m.worker.usage().peak()
	after, err := m.count(ctx, m.worker)
	if err != nil {
		return times, cost, err
	}
	cost = after.since(before, m.Records)
	cost.Memory = max(peak-m.worker.idle, 0)
	return times, cost, times.addLoop(ctx, loop, m.Length)
}

// moveTo has a run go on until so many records are moved, and pauses the migration
// unless these are all.
func (m *move) moveTo(ctx context.Context, records int) (Result, error) {
	begin, err := m.stands(ctx)
	if err != nil {
		return Result{}, err
	}
	if begin.passes > 0 {
		if _, err := m.first.ResumeMigrationWithResponse(ctx, m.tenantID, m.id, m.named()); err != nil {
			return Result{}, err
		}
	}
	if _, err := m.first.RunMigrationWithResponse(ctx, m.tenantID, m.id, m.named()); err != nil {
		return Result{}, err
	}
	first, err := m.await(ctx, oftenAtFirst, func(now moved) bool { return now.records > begin.records })
	if err != nil {
		return Result{}, err
	}
	var profiles errgroup.Group
	if m.Profile != "" {
		profiles.Go(func() error { return m.worker.profile(ctx, m.Length, filepath.Join(m.Profile, "migrate")) })
	}
	if _, err := m.await(ctx, quarterly, func(now moved) bool { return now.records >= records }); err != nil {
		return Result{}, err
	}
	if records < m.Records {
		_, err = m.first.PauseMigrationWithResponse(ctx, m.tenantID, m.id, m.named())
	} else {
		err = m.awaitDrained(ctx)
	}
	if err := errors.Join(err, profiles.Wait()); err != nil {
		return Result{}, err
	}
	last, err := m.stands(ctx)
	return last.since(first), err
}

// moved is what a checkpoint counts, and when the database counted it last.
type moved struct {
	records, passes int
	at              time.Time
}

func (m moved) since(before moved) Result {
	return Result{Operations: m.records - before.records, Elapsed: m.at.Sub(before.at)}
}

const (
	sqlAsTenant = `SELECT set_config('holdfast.tenant', $1, true)`
	sqlMoved    = `SELECT m.moved, m.passes, m.moved_at FROM migration_checkpoints m WHERE m.tenant_id = $1 AND m.collection_id = $2`
)

// stands reads the checkpoint, which the progress that the API tells would count the
// collection for.
func (m *move) stands(ctx context.Context) (now moved, err error) {
	err = pgx.BeginFunc(ctx, m.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlAsTenant, m.tenantID); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlMoved, m.tenantID, m.of.id).Scan(&now.records, &now.passes, &now.at)
	})
	return now, err
}

// How often the checkpoint is looked at: until a run moves something, and then.
const (
	oftenAtFirst = 20 * time.Millisecond
	quarterly    = 250 * time.Millisecond
)

// await looks at the checkpoint until it is as it has to be.
func (m *move) await(ctx context.Context, every time.Duration, enough func(moved) bool) (moved, error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last, moving := moved{}, time.Now()
	for {
		now, err := m.stands(ctx)
		switch {
		case err != nil, enough(now):
			return now, err
		case now != last:
			last, moving = now, time.Now()
		case time.Since(moving) > stuckAfter:
			return now, fmt.Errorf("nothing was moved for %v: %d of %d records are", stuckAfter, now.records, m.Records)
		}
		select {
		case <-ticker.C:
		case <-m.worker.Done():
			return now, fmt.Errorf("the worker ended: %w", m.worker.End())
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
}

// stuckAfter is longer than it takes another job to be made for a run.
const stuckAfter = time.Minute

// awaitDrained waits until the last run has seen that nothing is left.
func (m *move) awaitDrained(ctx context.Context) error {
	for began := time.Now(); ; {
		now, err := m.first.GetTenantMigrationWithResponse(ctx, m.tenantID, m.id)
		if err != nil {
			return err
		}
		switch state := now.JSON200.Migration.State; {
		case state == "drained":
			return nil
		case state != "active", time.Since(began) > stuckAfter:
			return fmt.Errorf("the migration is %s, and not drained: %+v", state, now.JSON200.Migration.Stop)
		}
		select {
		case <-time.After(quarterly):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
