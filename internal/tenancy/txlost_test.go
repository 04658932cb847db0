package tenancy_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

var (
	noteCommit = testkit.CommitOf("INSERT INTO notes")
	readCommit = testkit.CommitOf("SELECT text FROM notes")
)

// The two losses look the same to the client, so they have the same honest
// answer, though in one of them the note was written.
func TestConnectionLostOnCommit_OutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	for _, begin := range []func(){func() {}, n.warmUp(t)} {
		begin()
		n.CutAfter(t, noteCommit)
		wantCode(t, n.write(t.Context(), "cut after"), domain.KindOutcomeUnknown, "outcome_unknown")
		begin()
		n.CutBefore(t, noteCommit)
		wantCode(t, n.write(t.Context(), "cut before"), domain.KindOutcomeUnknown, "outcome_unknown")
		if diff := cmp.Diff([]string{"cut after"}, n.written(t)); diff != "" {
			t.Errorf("notes (-want +got)\n%s", diff)
		}
		n.exec(t, `DELETE FROM notes`)
	}
	must(t, n.write(t.Context(), "later"))
}

// warmUp gives a function after which the next transaction's statements have
// been prepared before.
func (n *notes) warmUp(t *testing.T) func() {
	return func() {
		must(t, n.write(t.Context(), "warm"))
		n.exec(t, `DELETE FROM notes WHERE text = 'warm'`)
	}
}

func TestConnectionLostOnAReadersCommit_IsOnlyUnavailable(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	for _, cut := range []func(testing.TB, testkit.Moment) *testkit.Trap{n.CutAfter, n.CutBefore} {
		cut(t, readCommit)
		_, err := n.read(t.Context())
		wantCode(t, err, domain.KindUnavailable, "database_unavailable")
	}
	_, err := n.read(t.Context())
	must(t, err)
}

func TestConnectionLostBeforeTheCommit_ChangesNothing(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	write := func() error {
		return tenancy.Run(t.Context(), n.db, n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, "first")
			if err := tx.Send(ctx); err != nil {
				return err
			}
			tx.Queue(sqlReadNotes, 7)
			if err := tx.Send(ctx); err != nil {
				return err
			}
			t.Error("the lost answer of a Send was no error")
			return nil
		})
	}
	moments := map[string]func(testing.TB, testkit.Moment) *testkit.Trap{
		"SELECT enter(": n.CutBefore, "INSERT INTO notes": n.CutAfter, "SELECT text FROM notes": n.CutAfter,
	}
	for statement, cut := range moments {
		cut(t, testkit.Statement(statement))
		wantCode(t, write(), domain.KindUnavailable, "database_unavailable")
	}
	if got := n.written(t); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}

func TestDatabaseDown_IsUnavailableUntilItIsBack(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.Proxy("data1").Refuse()
	n.Proxy("data1").CutAll()
	// The first two find connections that died while they were idle: for a write
	// that is a commit without an answer. Then there is no connection at all.
	for range n.db.Pool.Stat().TotalConns() {
		if err := n.write(t.Context(), "down"); domain.KindOf(err) != domain.KindOutcomeUnknown && domain.KindOf(err) != domain.KindUnavailable {
			t.Errorf("over a dead connection: %v", err)
		}
	}
	for range 2 {
		wantCode(t, n.write(t.Context(), "down"), domain.KindUnavailable, "database_unavailable")
		_, err := n.read(t.Context())
		wantCode(t, err, domain.KindUnavailable, "database_unavailable")
	}
	n.Proxy("data1").Accept()
	must(t, n.write(t.Context(), "back"))
	if diff := cmp.Diff([]string{"back"}, n.written(t)); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

func TestBackendTerminated_UnderAStatementIsUnavailable(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	var pid int
	err := tenancy.Run(t.Context(), n.db, n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlWriteNote, 7, "terminated")
		tx.Queue(`SELECT pg_backend_pid() WHERE $1::uuid IS NOT NULL`).QueryRow(scanInto(&pid))
		must(t, tx.Send(ctx))
		n.exec(t, `SELECT pg_terminate_backend($1, 10000)`, pid)
		tx.Queue(sqlReadNotes, 7)
		return tx.Send(ctx)
	})
	wantCode(t, err, domain.KindUnavailable, "database_unavailable")
	if got := n.written(t); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
	must(t, n.write(t.Context(), "later"))
}
