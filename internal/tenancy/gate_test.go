package tenancy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// sqlWaiting counts who waits for a gate of this database, to enter by it or to
// close it.
const sqlWaiting = `
SELECT count(*) = $1 FROM pg_locks
 WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// Both gates are held by every transaction that was admitted, so closing either
// waits for those and holds up the rest.
func TestClosingAGate_WaitsForWhatIsUnderWay_AndThenNothingIsAdmitted(t *testing.T) {
	t.Parallel()
	closings := []struct {
		name  string
		close func(ctx context.Context, n *notes) error
		kind  domain.Kind
		code  string
	}{
		{"the tenant's", suspendTenant, domain.KindForbidden, "tenant_suspended"},
		{"a number's", closeNumber, domain.KindUnavailable, "partition_unavailable"},
	}
	for _, closing := range closings {
		t.Run(closing.name, func(t *testing.T) {
			t.Parallel()
			n := newNotes(t)
			first := n.begin(t, "admitted")
			closed, second := make(chan error, 1), make(chan error, 1)
			go func() { closed <- closing.close(t.Context(), n) }()
			n.waitUntil(t, sqlWaiting, 1)
			go func() { second <- n.write(t.Context(), "came while it was closing") }()
			n.waitUntil(t, sqlWaiting, 2)

			must(t, first())
			must(t, <-closed)
			wantCode(t, <-second, closing.kind, closing.code)
			wantCode(t, n.write(t.Context(), "came later"), closing.kind, closing.code)
			if diff := cmp.Diff([]string{"admitted"}, n.written(t)); diff != "" {
				t.Errorf("notes (-want +got)\n%s", diff)
			}
		})
	}
}

// begin starts a transaction that has been admitted and has written, and gives a
// function that lets it commit.
func (n *notes) begin(t *testing.T, text string) (commit func() error) {
	t.Helper()
	admitted, leave, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- tenancy.Run(t.Context(), n.db, n.at(7), func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sqlWriteNote, 7, text)
			if err := tx.Send(ctx); err != nil {
				return err
			}
			close(admitted)
			<-leave
			return nil
		})
	}()
	select {
	case <-admitted:
	case err := <-ended:
		t.Fatalf("it was not admitted: %v", err)
	}
	return func() error {
		close(leave)
		return <-ended
	}
}

func suspendTenant(ctx context.Context, n *notes) error {
	return n.gates.Set(ctx, n.tenant, gate("suspended", "open"))
}

// closeNumber closes number 7 as whatever moves it would.
func closeNumber(ctx context.Context, n *notes) error {
	return inAdminTx(ctx, n.admin,
		`SELECT pg_advisory_xact_lock(number_gates_lock())`,
		`UPDATE number_gates SET state = 'closed' WHERE number = 7`)
}

func inAdminTx(ctx context.Context, admin *pgxpool.Pool, statements ...string) error {
	tx, err := admin.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

func TestClosingATenantsGate_LeavesOthersAlone(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	commit := n.begin(t, "ours")
	other := n.newTenant(t)
	must(t, n.gates.Set(t.Context(), other, gate("suspended", "open"))) // doesn't wait for us
	must(t, commit())
	must(t, n.gates.Set(t.Context(), other, gate("open", "open")))
}

func TestGates_OfADatabaseThatIsDown_AreReportedAndSetByRepeating(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.Proxy("data1").Refuse()
	n.Proxy("data1").CutAll()
	suspend := func() error { return suspendTenant(t.Context(), n) }
	for range n.db.Pool.Stat().TotalConns() + 1 {
		wantCode(t, suspend(), domain.KindUnavailable, "database_unavailable")
	}
	n.Proxy("data1").Accept()
	must(t, n.write(t.Context(), "not suspended yet"))
	must(t, suspend())
	wantCode(t, n.write(t.Context(), "suspended"), domain.KindForbidden, "tenant_suspended")
	must(t, suspend()) // as often as one likes
}

// A tenant is suspended wherever that can be done, whichever database is down.
func TestGates_OfTheOthersAreSet_WhileADatabaseIsDown(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 3).Through(t)
	router := in.Router(t, postgres.RoleAPI)
	gates, tenant := tenancy.NewGates(router), domain.NewID[domain.TenantKind](time.Now())
	must(t, gates.Set(t.Context(), tenant, gate("open", "open")))
	down := router.Databases()[0]
	in.Proxy(down.Name).Refuse()
	in.Proxy(down.Name).CutAll()

	err := gates.Set(t.Context(), tenant, gate("suspended", "open"))
	wantCode(t, err, domain.KindUnavailable, "database_unavailable")
	if !strings.Contains(err.Error(), "gate on "+down.Name) {
		t.Errorf("the error doesn't name %s: %v", down.Name, err)
	}
	for _, db := range router.Databases()[1:] {
		entry := tenancy.Entry{Tenant: tenant, Numbers: db.Numbers, Purpose: tenancy.Serve}
		err := tenancy.Run(t.Context(), db, entry, func(context.Context, *tenancy.Tx) error { return nil })
		wantCode(t, err, domain.KindForbidden, "tenant_suspended")
	}
}
