package tenancy_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestRun_WhatIsQueuedAtOnce_CostsOneRoundTrip(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.oneConnection(t)
	trips := func(text string, send bool) (made int64) {
		err := tenancy.Run(t.Context(), n.db, n.at(7, 8), func(ctx context.Context, tx *tenancy.Tx) error {
			// From here on: a connection that was idle may have been asked before
			// whether it still lives.
			made = -n.Proxy("data1").RoundTrips()
			tx.Queue(sqlWriteNote, 7, text)
			tx.Queue(sqlWriteNote, 8, text)
			if send {
				return tx.Send(ctx)
			}
			return nil
		})
		must(t, err)
		return made + n.Proxy("data1").RoundTrips()
	}
	trips("the first prepares its statements", false)
	if made := trips("queued at once", false); made != 1 {
		t.Errorf("it cost %d round trips, want 1", made)
	}
	if made := trips("sent before the commit", true); made != 2 {
		t.Errorf("with a Send before the commit it cost %d round trips, want 2", made)
	}
}

func TestRun_TheTenantGoesAheadOfEveryStatement(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	must(t, n.write(t.Context(), "theirs"))
	n.tenant = n.newTenant(t)
	must(t, n.write(t.Context(), "ours"))

	e := n.at(7)
	var texts, everybodys []string
	var first domain.TenantID
	must(t, tenancy.Run(t.Context(), n.db, e, func(_ context.Context, tx *tenancy.Tx) error {
		if tx.Tenant() != e.Tenant {
			t.Errorf("the transaction is %v's, want %v's", tx.Tenant(), e.Tenant)
		}
		tx.Queue(`SELECT $1::uuid`).QueryRow(func(row pgx.Row) error { return row.Scan(&first) })
		tx.Queue(sqlReadNotes, 7).Query(collectInto(&texts))
		// A statement that forgets its tenant sees no other's rows either.
		tx.Queue(`SELECT text FROM notes WHERE $1::uuid IS NOT NULL`).Query(collectInto(&everybodys))
		return nil
	}))
	if first != e.Tenant {
		t.Errorf("$1 is %v, want the tenant %v", first, e.Tenant)
	}
	if diff := cmp.Diff([][]string{{"ours"}, {"ours"}}, [][]string{texts, everybodys}); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

func TestRun_ReadOnly_RefusesWrites(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	e := n.at(7)
	e.ReadOnly = true
	err := tenancy.Run(t.Context(), n.db, e, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlWriteNote, 7, "a reader's")
		return nil
	})
	wantState(t, err, "25006") // read_only_sql_transaction
	if got := n.written(t); len(got) > 0 {
		t.Errorf("a reader wrote %q", got)
	}
}

// wantState fails unless PostgreSQL refused a statement with the code.
func wantState(t *testing.T, err error, code string) {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != code {
		t.Errorf("error = %v, want SQLSTATE %s", err, code)
	}
}

func TestRun_CommitThatRolledBack_IsAnError(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	for _, readOnly := range []bool{false, true} {
		e := n.at(7)
		e.ReadOnly = readOnly
		err := tenancy.Run(t.Context(), n.db, e, func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(`SELECT 1 / 0 WHERE $1::uuid IS NOT NULL`)
			if tx.Send(ctx) == nil {
				t.Error("a division by zero passed")
			}
			return nil // as if nothing were the matter
		})
		if err == nil || domain.KindOf(err) != domain.KindInternal {
			t.Errorf("read-only %v: a transaction that was rolled back ended with %v, want an internal error", readOnly, err)
		}
	}
}

// Whatever ends a transaction, the connection goes back to the pool, and what
// the next caller finds on it is as if nothing had been.
func TestRun_ConnectionGoesBackClean(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.oneConnection(t)
	must(t, n.write(t.Context(), "first"))
	pid := n.expectCleanConnection(t, "a commit")

	own := errors.New("the caller's own")
	refused := n.at(7)
	refused.Tenant = tenancy.Operators
	endings := []struct {
		name  string
		entry tenancy.Entry
		fn    func(ctx context.Context, tx *tenancy.Tx) error
	}{
		{"an error before anything was sent", n.at(7), func(context.Context, *tenancy.Tx) error { return own }},
		{"an error after a Send", n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, "undone")
			return errors.Join(tx.Send(ctx), own)
		}},
		{"a statement that fails in a Send", n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, "undone")
			tx.Queue(sqlWriteNote, 7, "poison")
			return tx.Send(ctx)
		}},
		{"a statement that fails beside the commit", n.at(7), func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, "undone")
			tx.Queue(sqlWriteNote, 7, "poison")
			return nil
		}},
		{"a statement that can't be prepared", n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, "undone")
			if err := tx.Send(ctx); err != nil {
				return err
			}
			tx.Queue(`SELECT no_such_function($1)`)
			return nil
		}},
		{"a callback that fails in a Send", n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, "undone")
			tx.Queue(`SELECT 1 WHERE $1::uuid IS NOT NULL`).QueryRow(func(pgx.Row) error { return own })
			return tx.Send(ctx)
		}},
		{"a gate that refuses", refused, func(context.Context, *tenancy.Tx) error { return nil }},
	}
	for _, ending := range endings {
		if err := tenancy.Run(t.Context(), n.db, ending.entry, ending.fn); err == nil {
			t.Errorf("%s: no error", ending.name)
		}
		if got := n.expectCleanConnection(t, ending.name); got != pid {
			t.Errorf("%s: the connection was thrown away", ending.name)
		}
	}
	if diff := cmp.Diff([]string{"first"}, n.written(t)); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

const sqlLeftovers = `
SELECT pg_backend_pid(), coalesce(current_setting('holdfast.tenant', true), ''),
       pg_current_xact_id_if_assigned() IS NOT NULL,
       (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')`

// expectCleanConnection looks at the pool's one connection, and gives its
// backend's process id.
func (n *notes) expectCleanConnection(t *testing.T, after string) (pid int) {
	t.Helper()
	conn, err := n.db.Pool.Acquire(t.Context())
	must(t, err)
	defer conn.Release()
	if status := conn.Conn().PgConn().TxStatus(); status != 'I' {
		t.Errorf("after %s the connection's status is %c, want idle", after, status)
	}
	var tenant string
	var writing bool
	var locks int
	must(t, conn.QueryRow(t.Context(), sqlLeftovers).Scan(&pid, &tenant, &writing, &locks))
	if tenant != "" || writing || locks > 0 {
		t.Errorf("after %s the connection has the tenant %q, a transaction (%v), %d locks", after, tenant, writing, locks)
	}
	return pid
}
