package tenancy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func scanInto[T any](to *T) func(pgx.Row) error {
	return func(row pgx.Row) error { return row.Scan(to) }
}

// sqlBackendWaits tells whether a backend waits for a lock.
const sqlBackendWaits = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`

func TestCallerGoneInAStatement_ItEndsAndNothingWasDone(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.exec(t, `INSERT INTO notes VALUES ($1, 7, 'held')`, n.tenant)
	holder, err := n.admin.Begin(t.Context())
	must(t, err)
	defer holder.Rollback(t.Context())
	_, err = holder.Exec(t.Context(), `SELECT FROM notes FOR UPDATE`)
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pids, ended := make(chan int, 1), make(chan error, 1)
	go func() {
		ended <- tenancy.Run(ctx, n.db, n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			var pid int
			tx.Queue(sqlWriteNote, 7, "undone")
			tx.Queue(`SELECT pg_backend_pid() WHERE $1::uuid IS NOT NULL`).QueryRow(scanInto(&pid))
			if err := tx.Send(ctx); err != nil {
				return err
			}
			pids <- pid
			tx.Queue(`SELECT FROM notes WHERE tenant_id = $1 FOR KEY SHARE`)
			return tx.Send(ctx)
		})
	}()
	pid := <-pids
	n.waitUntil(t, sqlBackendWaits, pid)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller's own cancellation", err)
	}
	// The server is told, and doesn't wait on for a lock that nobody wants.
	n.waitUntil(t, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`, pid)
	if !n.holds(t, `SELECT count(*) = 1 FROM notes`) {
		t.Error("the statement's transaction left something")
	}
	must(t, n.write(t.Context(), "later"))
}

func TestCallerGoneBeforeTheCommit_NothingWasDoneAndTheLocksAreFree(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.oneConnection(t)
	pid := n.expectCleanConnection(t, "nothing")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := tenancy.Run(ctx, n.db, n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlWriteNote, 7, "undone")
		must(t, tx.Send(ctx))
		cancel()
		return nil
	})
	// The commit was never sent, so the outcome is known.
	if !errors.Is(err, context.Canceled) || domain.KindOf(err) == domain.KindOutcomeUnknown {
		t.Errorf("got %v, want the caller's own cancellation", err)
	}
	if n.holds(t, `SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND locktype = 'advisory')`, pid) {
		t.Error("Run has returned, and its transaction still holds the gates")
	}
	if got := n.expectCleanConnection(t, "a caller that went away"); got != pid {
		t.Error("the connection was thrown away")
	}
	if got := n.written(t); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}

// sqlInsertIsDone tells whether a backend waits for what follows its insert.
const sqlInsertIsDone = `
SELECT EXISTS (SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event = 'ClientRead' AND query LIKE 'INSERT INTO notes%')`

func TestCallerGoneBehindTheCommit_OutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	held := n.HoldBefore(t, noteCommit)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.write(ctx, "under way") }()
	<-held.Met()
	n.waitUntil(t, sqlInsertIsDone) // else its cancellation may come before the commit does
	cancel()
	wantCode(t, <-ended, domain.KindOutcomeUnknown, "outcome_unknown")
	if got := n.written(t); len(got) > 0 {
		t.Errorf("there is %q before the commit arrived", got)
	}
	held.Release() // the commit was on its way, and arrives
	n.waitUntil(t, `SELECT EXISTS (SELECT FROM notes WHERE text = 'under way')`)
}

func TestCallerGoneInTheQueueForAConnection_IsToldSo(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.oneConnection(t)
	taken, err := n.db.Pool.Acquire(t.Context())
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.write(ctx, "never") }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the caller's own cancellation", err)
	}
	taken.Release()
	must(t, n.write(t.Context(), "later"))
}
