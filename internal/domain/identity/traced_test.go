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
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// transaction is what one began with.
type transaction struct {
	database string
	numbers  []int16
	unsynced bool
}

// transactions records every domain transaction that is entered.
type transactions struct {
	mu       sync.Mutex
	all      []transaction
	unsynced map[*pgx.Conn]bool // of its transaction
	synced   map[string]bool    // what was written, by the steps below, and whether that waits for the disk
}

// steps that write. Those that are true must outlast a crash of their database,
// since something rests on them at once; the others are looked for again, or
// done again.
var steps = map[string]struct {
	name string
	kept bool
}{
	sqlPrepare:           {"prepare a creation", false},
	sqlPrepareChange:     {"prepare a change", true}, // with it a code is judged
	sqlClaim:             {"claim", true},
	sqlClaimUntil:        {"claim a code", true},
	sqlInsertAccounts:    {"create an account", true},
	sqlInsertDevices:     {"create a device", true},
	sqlChangeEmail:       {"change an email", true},
	sqlRemoveEmail:       {"remove an email", true},
	sqlEntomb:            {"delete", true},
	sqlCountWrongCode:    {"count a wrong code", true},
	sqlCancelEmailChange: {"end an email change", true},
	sqlAbort:             {"abort", true},
	sqlRelease:           {"release", false},
	sqlFinalize:          {"finalize", false},
	sqlPaceDevice:        {"pace a device", false},
	sqlRedeemDevice:      {"redeem a device", true},
	sqlRotateRefresh:     {"rotate a refresh token", true},
	sqlWriteGuesses:      {"charge a guess", true},
}

func (r *transactions) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (r *transactions) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (r *transactions) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range data.Batch.QueuedQueries {
		if strings.HasPrefix(q.SQL, "SELECT enter(") {
			r.unsynced[conn] = q.Arguments[6].(bool)
			r.all = append(r.all, transaction{conn.Config().Database, q.Arguments[1].([]int16), r.unsynced[conn]})
		} else if step, writes := steps[q.SQL]; writes {
			r.synced[step.name] = !r.unsynced[conn]
		}
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

// traced is another process, whose transactions are recorded. It keeps the steps
// apart.
func (d *directory) traced(t *testing.T) (*directory, *transactions) {
	t.Helper()
	recorder := &transactions{unsynced: map[*pgx.Conn]bool{}, synced: map[string]bool{}}
	settings := d.in.Settings(postgres.RoleAPI)
	settings.Tracer = recorder
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	return &directory{Service: New(router, testSecrets("server"), Options{Stepwise: true}), in: d.in, router: router, scope: d.scope}, recorder
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

// TestEveryStep_WaitsForTheDiskWhereSomethingRestsOnIt: a database that lost a
// claim in a crash, with the process alive, would let an account commit without
// its keys.
func TestEveryStep_WaitsForTheDiskWhereSomethingRestsOnIt(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	traced, recorder := d.traced(t)
	recorder.during(func() {
		for _, life := range lives {
			if err := life(t.Context(), traced); err != nil {
				t.Error(err)
			}
		}
		ada := traced.create(t, "ada-of-the-rest", "")
		change, err := traced.BeginEmailChange(t.Context(), d.scope, ada.ID, BeginEmailChange{Email: "rest@example.com"})
		if err != nil {
			t.Error(err)
		}
		expectCode(t, traced.confirm(t, ada.ID, change.EmailChange, "wrong"), domain.KindInvalid, "email_code_wrong")
		client := d.client()
		_, err = traced.poll(t.Context(), client, traced.authorize(t, client, "screen"))
		expectGrant(t, err, tenancy.GrantAuthorizationPending)
	})
	for _, step := range steps {
		if synced, made := recorder.synced[step.name]; !made {
			t.Errorf("no life makes the step %q", step.name)
		} else if synced != step.kept {
			t.Errorf("the step %q waits for the disk: %v, want %v", step.name, synced, step.kept)
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
