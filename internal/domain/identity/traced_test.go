package identity

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// transaction is what one began with.
type transaction struct {
	database string
	numbers  []int16
	unsynced bool
}

// transactions records every domain transaction that is entered.
type transactions struct {
	mu  sync.Mutex
	all []transaction
}

func (r *transactions) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (r *transactions) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (r *transactions) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		if !strings.HasPrefix(q.SQL, "SELECT enter(") {
			continue
		}
		r.mu.Lock()
		r.all = append(r.all, transaction{conn.Config().Database, q.Arguments[1].([]int16), q.Arguments[6].(bool)})
		r.mu.Unlock()
	}
	return ctx
}
func (r *transactions) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (r *transactions) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// during records the transactions of fn.
func (r *transactions) during(fn func()) []transaction {
	r.mu.Lock()
	r.all = nil
	r.mu.Unlock()
	fn()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// traced is another process, whose transactions are recorded.
func (d *directory) traced(t *testing.T) (*directory, *transactions) {
	t.Helper()
	recorder := &transactions{}
	settings := d.in.Settings(postgres.RoleAPI)
	settings.Tracer = recorder
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	return &directory{Service: New(router, testSecrets("server"), Options{}), in: d.in, router: router, scope: d.scope}, recorder
}

func TestAChangeOfNoKey_IsOneTransactionInTheAccountsBucket(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	traced, recorder := d.traced(t)

	var a Account
	created := recorder.during(func() { a = traced.create(t, "ada", "ada@example.com") })
	home := accountRef(a.ID).Number
	if len(created) < 3 || len(created) > 4 { // prepare; the claims, on one database or on two; commit
		t.Errorf("a creation made %d transactions: %+v", len(created), created)
	}
	name := "Ada"
	pointer := &name
	patched := recorder.during(func() {
		if _, err := traced.Patch(t.Context(), d.scope, a.ID, 1, AccountPatch{DisplayName: &pointer}); err != nil {
			t.Error(err)
		}
	})
	want := []transaction{{traced.router.Database(home).Pool.Config().ConnConfig.Database, []int16{int16(home)}, false}}
	if diff := cmp.Diff(want, patched, cmp.AllowUnexported(transaction{})); diff != "" {
		t.Errorf("a change of the name (-want +got):\n%s", diff)
	}
	read := recorder.during(func() {
		if _, err := traced.Get(t.Context(), d.scope, a.ID); err != nil {
			t.Error(err)
		}
	})
	if diff := cmp.Diff(want, read, cmp.AllowUnexported(transaction{})); diff != "" {
		t.Errorf("a read (-want +got):\n%s", diff)
	}
}

// TestOnlyAPrepare_DoesNotWaitForTheDisk: it is looked for again by the commit.
// A claim is not, so a database that lost one in a crash, with the process alive,
// would let an account commit without its keys.
func TestOnlyAPrepare_DoesNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	traced, recorder := d.traced(t)
	var a Account
	created := recorder.during(func() { a = traced.create(t, "ada", "ada@example.com") })
	for i, tx := range created {
		if want := i == 0; tx.unsynced != want {
			t.Errorf("transaction %d of a creation is unsynced: %v, want %v", i, tx.unsynced, want)
		}
	}
	others := recorder.during(func() {
		if _, err := traced.tryCreate(t.Context(), "ADA", "other@example.com"); err == nil {
			t.Error("the handle was given twice")
		}
		if err := traced.Delete(t.Context(), d.scope, a.ID, 1); err != nil {
			t.Error(err)
		}
	})
	for i, tx := range others[1:] {
		if tx.unsynced {
			t.Errorf("transaction %d of a refusal and a deletion doesn't wait for the disk: %+v", i+1, tx)
		}
	}
}

// TestEveryTransaction_StaysOnTheDatabaseOfItsNumbers drives everything, and
// holds each transaction to the numbers of the database that it ran on.
func TestEveryTransaction_StaysOnTheDatabaseOfItsNumbers(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	traced, recorder := d.traced(t)
	all := recorder.during(func() {
		for _, life := range lives {
			if err := life(t.Context(), traced); err != nil {
				t.Error(err)
			}
		}
		if _, err := traced.List(t.Context(), d.scope, AccountFilter{}, nil, 10); err != nil {
			t.Error(err)
		}
	})
	for _, tx := range all {
		for _, n := range tx.numbers {
			if home := traced.router.Database(domain.Number(n)).Pool.Config().ConnConfig.Database; home != tx.database {
				t.Errorf("a transaction on %s entered number %d, which lives on %s", tx.database, n, home)
			}
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d transactions were seen", len(all))
	}
}
