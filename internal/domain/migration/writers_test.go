package migration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// writer is an API process behind a network that can hold what it sends.
func (m *moving) writer(t testing.TB) (*record.Service, *testkit.Proxied) {
	t.Helper()
	network := m.in.Through(t)
	router := network.Router(t, postgres.RoleAPI)
	bucket := testkit.OpenBodies(t, m.faults.Through(testkit.BodyStore(t)))
	return record.New(router, lease.New(router, testSecrets("server"), lease.Options{}), bucket, record.Options{}), network
}

// R13 and R6: a writer of format 1 holds its transaction open at its commit while the
// collection is activated. The activation waits, so that what is committed is inside
// the frontier; or gives up, and is repeated.
func TestActivate_AWriterThatIsAtItsCommit_IsInsideTheFrontier(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 5)
	before := m.question(t)
	approved := m.approved(t, m.ask(t, RecordBodies))
	records, network := m.writer(t)
	trap := network.HoldBefore(t, testkit.CommitOf("INSERT INTO sections_in_sql"))
	written := make(chan record.Receipt, 1)
	go func() {
		receipt, err := records.Publish(t.Context(), m.scope, "orders", nil, items("key-0000", "written across", 1))
		if err != nil {
			t.Errorf("the writer: %v", err)
		}
		written <- receipt
	}()
	<-trap.Met()
	activated := make(chan error, 1)
	go func() {
		_, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
		activated <- err
	}()
	m.await(t, func() bool { return m.now(t, approved.ID).State == Activating })
	m.awaitWaiting(t)
	if n := m.counted(t, `SELECT count(*) FROM collections WHERE record_format = 2`); n != 0 {
		t.Error("the format was switched across an open transaction")
	}
	trap.Release()
	receipt := <-written
	if err := <-activated; err != nil && domain.KindOf(err) != domain.KindUnavailable {
		t.Errorf("the activation: %v", err)
	}
	if now := m.now(t, approved.ID); now.State == Activating {
		if _, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.counted(t, `SELECT count(*) FROM sections_in_sql s, migration_checkpoints c WHERE s.row_identity > c.frontier`); n != 0 {
		t.Errorf("%d rows are behind the frontier", n)
	}
	before.published(t, m.question(t), "orders", receipt)
	m.finish(t, approved.ID)
	before.published(t, m.question(t), "orders", receipt)
}

// awaitWaiting returns when some backend waits for a lock.
func (m *moving) awaitWaiting(t testing.TB) {
	t.Helper()
	m.await(t, func() bool {
		return m.counted(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	})
}

func items(key, body string, revision int64) record.Publication {
	return record.Publication{
		Key: key, OperationID: "operation-" + key + body, Bodies: map[string][]byte{"items": []byte(body)}, Expect: record.Expectation{Revision: revision},
	}
}

// R13: one that has prepared for format 1, and comes to the collection's lock when it
// has been activated and drained, fails its check there, and writes format 2.
func TestActivate_AWriterThatPreparedBefore_WritesTheNewFormat(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	if err := m.api.control.DemandRecordFormat(t.Context(), record.FormatStore); err != nil {
		t.Fatal(err) // another migration has raised the floor: this one waits for nobody
	}
	m.fill(t, "orders", 5)
	before := m.question(t)
	approved := m.approved(t, m.ask(t, RecordBodies, "orders"))
	records, network := m.writer(t)
	trap := network.HoldBefore(t, testkit.Statement("FOR NO KEY UPDATE) c"))
	written := make(chan record.Receipt, 1)
	go func() {
		receipt, err := records.Publish(t.Context(), m.scope, "orders", nil, items("key-0000", "written behind", 1))
		if err != nil {
			t.Errorf("the writer: %v", err)
		}
		written <- receipt
	}()
	<-trap.Met()
	m.finish(t, approved.ID)
	trap.Release()
	receipt := <-written
	if n := m.counted(t, `SELECT count(*) FROM sections_in_sql`); n != 0 {
		t.Errorf("%d rows are in SQL, where nobody looks any more", n)
	}
	before.published(t, m.question(t), "orders", receipt)
}

// R6: a row whose identity is below where the sweep is by now. Completion looks at
// the table, and not at the end of a cursor.
func TestRun_ARowBehindTheCursor_IsMovedAllTheSame(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 12)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	m.step(t, active, "orders")
	after := m.at(t, active)[0].AfterRow
	if after < 4 {
		t.Fatalf("the cursor is at %d", after)
	}
	for _, admin := range m.admin {
		if _, err := admin.Exec(t.Context(), `UPDATE sections_in_sql SET row_identity = 2 WHERE item_key = 'key-0009' AND section = 'items'`); err != nil {
			t.Fatal(err)
		}
	}
	c := m.at(t, active)[0]
	ended, err := m.walk(t.Context(), m.scope.Tenant, c.number, c.CollectionID, unlimited)
	if left := m.left(t, "sections_in_sql"); err != nil || ended != walkDrained || left != 0 {
		t.Fatalf("the walk ended as %q with %d rows left, %v", ended, left, err)
	}
	if run := m.run(t, active); run.Outcome != OutcomeDrained || m.total(t, active).Moved != 12 {
		t.Errorf("the run is %+v, with %+v", run, m.total(t, active))
	}
	m.unchanged(t, before)
}

// R26: behind an activation the gates admit no process that knows format 1 alone,
// and before it one that is alive keeps it from beginning.
func TestActivate_AProcessThatKnowsOnlyFormatOne(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	before := m.question(t)
	// As tenancy.Run enters, for a process that knows less.
	enter := func(number domain.Number) error {
		return pgx.BeginFunc(t.Context(), m.api.router.Database(number).Pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `SELECT enter($1, $2, 'serve', NULL, 1::smallint, 1::smallint, false)`, m.scope.Tenant, []int16{int16(number)})
			return err
		})
	}
	for n := range domain.Number(64) {
		if err := enter(n); err != nil {
			t.Fatalf("before the activation, number %d: %v", n, err)
		}
	}
	old := Process{ID: domain.NewID[Process](time.Now()), Kind: ProcessAPI, Build: "build-0", Formats: []int16{tenancy.RecordsInSQL}, StartedAt: time.Now()}
	if err := m.api.Report(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	approved := m.approved(t, m.ask(t, RecordBodies))
	m.refused(t, "processes_too_old", approved.ID, func(ctx context.Context) error {
		_, err := m.api.Activate(ctx, planner, approved.Tenant, approved.ID, approved.PlanHash)
		return err
	})
	m.api.leave(t.Context(), old)
	if _, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash); err != nil {
		t.Fatal(err)
	}
	for n := range domain.Number(64) {
		if err := enter(n); err == nil || !strings.Contains(err.Error(), "HF003") {
			t.Errorf("behind the activation, number %d: %v", n, err)
		}
	}
	m.finish(t, approved.ID)
	m.unchanged(t, before)
}
