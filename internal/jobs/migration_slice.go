package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// oneSlice: one slice a tenant as long as one is unfinished. One whose worker was
// killed, or that failed, is tried again; after the last try the watch begins anew.
func oneSlice(queue string) river.InsertOpts {
	return river.InsertOpts{
		Queue:       queue,
		MaxAttempts: sliceAttempts,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: unfinished()},
	}
}

// slice is a job that does a part of something long.
type slice interface {
	comparable
	river.JobArgs
}

// sliceWorker works the slices of one kind.
type sliceWorker[A slice] struct {
	river.WorkerDefaults[A]
	migrations Migrations
	control    *pgxpool.Pool
	stopping   <-chan struct{} // closed when the process is about to stop
	// work does a slice.
	work func(ctx context.Context, did A, until time.Time) (ended bool, err error)
	// beside gives the job of open work, if it takes turns with another's.
	beside func(did A, open migration.OpenWork) (A, bool)
}

// Timeout ends the context of a slice whose last step doesn't end.
func (*sliceWorker[A]) Timeout(*river.Job[A]) time.Duration { return sliceTimeout }

// NextRetry is soon: a run has a deadline.
func (*sliceWorker[A]) NextRetry(*river.Job[A]) time.Time { return time.Now().Add(sliceRetry) }

// Work does a slice. When the process is about to stop, it ends with the step under
// way, and the next slice is another worker's.
func (w *sliceWorker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	working, cancel := w.whileServing(ctx)
	defer cancel()
	ended, err := w.work(working, job.Args, time.Now().Add(sliceFor))
	if err != nil && working.Err() == nil {
		return err
	}
	return w.handOn(ctx, job, ended)
}

// whileServing ends with ctx, or when the process is about to stop.
func (w *sliceWorker[A]) whileServing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-w.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// handOn finishes the job and asks for the next slice, both or neither, even when the
// slice's own time is over. A crash before leaves the job to River's rescuer, and the
// place of the run to whoever goes on there.
func (w *sliceWorker[A]) handOn(ctx context.Context, job *river.Job[A], ended bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOnTimeout)
	defer cancel()
	open, err := w.migrations.OpenWork(ctx, openLimit)
	if err != nil {
		return err
	}
	next, some := w.next(open, job.Args, ended)
	if !some {
		return nil
	}
	client := river.ClientFromContext[pgx.Tx](ctx)
	err = pgx.BeginFunc(ctx, w.control, func(tx pgx.Tx) error {
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
			return err
		}
		_, err := client.InsertTx(ctx, tx, next, nil)
		return err
	})
	if errors.Is(err, rivertype.ErrNotFound) {
		return nil // this was slow, was rescued, and whoever worked it too has handed on
	}
	return err
}

// next takes the turn behind what was done, round by round, over what is open of the
// same tenant. Nothing of it may be.
func (w *sliceWorker[A]) next(open []migration.OpenWork, did A, ended bool) (next A, some bool) {
	first, behind := next, false
	for _, o := range open {
		job, ok := w.beside(did, o)
		switch {
		case !ok:
		case job == did:
			behind = true
		case behind:
			return job, true
		case !some:
			first, some = job, true
		}
	}
	if some {
		return first, true
	}
	return did, !ended
}
