package migration

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
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

// published holds what readers are told to the receipts of all publications since an
// earlier answer: what they changed is as the last of them left it, and the rest is
// as it was.
func (was told) published(t testing.TB, is told, collection string, receipts ...record.Receipt) {
	t.Helper()
	touched := map[string]record.Receipt{}
	for _, r := range receipts {
		if r.Revision > touched[r.Key].Revision {
			touched[r.Key] = r
		}
	}
	for key, r := range touched {
		at := fmt.Sprintf("record %s %s", collection, key)
		if !strings.HasPrefix(is[at], fmt.Sprintf("at %d, ", r.Revision)) {
			t.Errorf("%s is %q, and its last receipt is of revision %d", at, is[at], r.Revision)
		}
		for _, c := range r.Changes {
			want := fmt.Sprintf("%s live %v ", c.Section, c.Live)
			if c.Live {
				want += fmt.Sprintf("%v of %d ", *c.Digest, c.Length)
			}
			if got := is[at+" "+c.Section]; !strings.HasPrefix(got, want) || !strings.Contains(got, fmt.Sprintf(" at %d, ", c.Sequence)) {
				t.Errorf("%s of %s is %q, and its last receipt says %+v", c.Section, key, got, c)
			}
		}
	}
	for at, line := range was {
		words := strings.Fields(at)
		if words[0] != "record" || words[1] != collection {
			continue
		}
		if _, changed := touched[words[2]]; !changed && is[at] != line {
			t.Errorf("nobody changed %s, and it is %q, and was %q", at, is[at], line)
		}
	}
}

// awaitBlocked returns when a backend waits for the superuser's, or who was to is
// done.
func awaitBlocked(t testing.TB, admin pgx.Tx, done <-chan struct{}) {
	t.Helper()
	by := admin.Conn().PgConn().PID()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case <-done:
			return
		default:
		}
		var waiting int
		if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND $1::integer = ANY (pg_blocking_pids(pid))`, int32(by)).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting > 0 {
			return
		}
	}
	t.Error("nobody waits")
}

// R12: a real deadlock on the last batch, by a session that takes the locks in the
// other order. The pass is made over, and until then nothing is reported complete.
func TestRun_ADeadlockOnItsLastBatch_IsRetried(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			m := newMoving(t).another(t, kind)
			m.fill(t, "orders", 3)
			before := m.question(t)
			active := m.active(t, kind)
			run := m.openRun(t, active)
			h := newHeld()
			m.onBodies("GET", h.fault)
			var worker sync.WaitGroup
			worker.Go(func() {
				if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
					t.Errorf("the shift: %v, %v", ended, err)
				}
			})
			defer worker.Wait()
			<-h.met
			admin := m.admin[m.router.Database(record.NumberOf("orders")).Name]
			tx, err := admin.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(context.Background())
			// The other session never looks for a deadlock, so it is the pass that finds it.
			for _, sql := range []string{`SET LOCAL deadlock_timeout = '1h'`, `SELECT FROM migration_checkpoints FOR UPDATE`} {
				if _, err := tx.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			close(h.released)
			awaitBlocked(t, tx, nil)
			if _, err := tx.Exec(t.Context(), `SELECT FROM collections FOR UPDATE`); err != nil {
				t.Errorf("the other session was to win: %v", err)
			}
			if now := m.now(t, active.ID); now.State != Active || m.total(t, active).Moved != 0 {
				t.Errorf("the migration is %s with %+v", now.State, m.total(t, active))
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			worker.Wait()
			at := m.total(t, active)
			if now := m.now(t, active.ID); now.State != Drained || at.Moved != 3 || at.Retries == 0 {
				t.Errorf("the migration is %s with %+v", now.State, at)
			}
			m.unchanged(t, before)
		})
	}
}

// A lock that somebody holds when a shift begins is waited for. It is nothing to
// review.
func TestRun_AShiftThatFindsALock_TriesAgain(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	run := m.openRun(t, active)
	// As a resumption that died has left it: the shift has to let go of it.
	db := m.admin[m.router.Database(record.NumberOf("orders")).Name]
	if _, err := db.Exec(t.Context(), `UPDATE migration_checkpoints SET held = true, held_at = held_at - 1`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), `SELECT FROM migration_checkpoints FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	var worker sync.WaitGroup
	worker.Go(func() {
		if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
			t.Errorf("the shift: %v, %v", ended, err)
		}
	})
	defer worker.Wait()
	awaitBlocked(t, tx, nil)
	// The lock times out for who waits, and that one comes back.
	m.await(t, func() bool { return m.waiting(t, tx) == 0 })
	awaitBlocked(t, tx, nil)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker.Wait()
	if now := m.now(t, active.ID); now.State != Drained {
		t.Errorf("the migration is %s for %+v", now.State, now.Stop)
	}
	m.unchanged(t, before)
}

// waiting counts the backends that wait for one of the superuser's.
func (m *moving) waiting(t testing.TB, admin pgx.Tx) (n int) {
	t.Helper()
	err := admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND $1::integer = ANY (pg_blocking_pids(pid))`,
		int32(admin.Conn().PgConn().PID())).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// R9: publishers change the records that are to be moved and make new ones, faster
// than one a pass is moved, for as long as the run lasts. It ends all the same, since
// what they write is in the new format, and no publication is lost by it.
func TestRun_EndsBesidePublishersThatAreFasterThanIt(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			m := newMoving(t).another(t, kind)
			m.fill(t, "orders", 40)
			before := m.question(t)
			active := m.active(t, kind)
			one := Caps{Inspected: 8, Records: 1, Bytes: minBytes, InFlight: 1}
			active, err := m.api.LowerCaps(t.Context(), planner, active.Tenant, active.ID, active.PlanHash, one)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var publishers sync.WaitGroup
			receipts := make([][]record.Receipt, 4)
			for p := range receipts {
				publishers.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						key := fmt.Sprintf("key-%04d", (4*i+p)%40) // each record has one publisher
						if i%3 == 2 {
							key = fmt.Sprintf("new-%d-%d", p, i)
						}
						receipts[p] = append(receipts[p], m.publish(t, "orders", record.Publication{
							Key: key, OperationID: fmt.Sprintf("beside-%d-%d", p, i), Bodies: map[string][]byte{"items": fmt.Appendf(nil, "%d by %d", i, p)},
							Expect: record.Expectation{Fence: &record.Fence{Key: key, Revision: int64(i + 1)}},
						}))
					}
				})
			}
			run := m.run(t, active)
			stop()
			publishers.Wait()
			if run.Outcome != OutcomeDrained || m.now(t, active.ID).State != Drained {
				t.Errorf("the run is %+v", run)
			}
			before.published(t, m.question(t), "orders", slicesOf(receipts)...)
		})
	}
}

func slicesOf(all [][]record.Receipt) (flat []record.Receipt) {
	for _, some := range all {
		flat = append(flat, some...)
	}
	return flat
}

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

// R19.
func TestMigration_NamesOfMixedCase_AreOneCollection(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "Orders", 3)
	before := m.question(t)
	if _, _, err := m.api.Ask(t.Context(), asker, m.scope.Tenant, Request{Kind: RecordBodies, Collections: []string{"orders", "ORDERS"}}); domain.CodeOf(err) != "collections_invalid" {
		t.Errorf("one collection was named twice: %v", err)
	}
	active := m.active(t, RecordBodies, "oRDERS")
	receipt := m.publish(t, "ORders", items("key-0001", "in mixed case", 1))
	m.finish(t, active.ID)
	if n := m.counted(t, `SELECT count(*) FROM collections`); n != 1 {
		t.Errorf("%d collections", n)
	}
	before.published(t, m.question(t), "orders", receipt)
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

// held is a fault that holds a request until it is let go.
type held struct{ met, released chan struct{} }

func newHeld() *held { return &held{make(chan struct{}), make(chan struct{})} }

func (h *held) fault(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
	close(h.met)
	<-h.released
	return pass()
}

// R18: a pass that takes longer than it takes River to give its job to another
// worker. That one goes through all of the migration; the first can't commit what it
// has prepared, and counts nothing.
func TestRun_APassThatOutlivesItsJob_IsFenced(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			m := newMoving(t).another(t, kind)
			m.fill(t, "orders", 12)
			before := m.question(t)
			active := m.active(t, kind)
			run := m.openRun(t, active)
			second := m.process(t, postgres.RoleWorker, "build-1")
			h := newHeld()
			m.onBodies("GET", h.fault)
			var first sync.WaitGroup
			first.Go(func() {
				if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
					t.Errorf("the first's shift: %v, %v", ended, err)
				}
			})
			<-h.met
			if run := m.worked(t, second, run); run.Outcome != OutcomeDrained {
				t.Errorf("the run is %+v", run)
			}
			drained := m.total(t, active)
			close(h.released)
			first.Wait()
			if at := m.total(t, active); at != drained || at.Moved != 12 {
				t.Errorf("the totals are %+v, and were %+v", at, drained)
			}
			if now := m.now(t, active.ID); now.State != Drained {
				t.Errorf("the migration is %s for %+v", now.State, now.Stop)
			}
			m.unchanged(t, before)
		})
	}
}

// The same pass across a change of the build: what the former build has prepared
// can't commit under the plan of the next one.
func TestRequalify_APassThatTheFormerBuildPrepared_IsRefused(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 12)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	run := m.openRun(t, active)
	h := newHeld()
	m.onBodies("GET", h.fault)
	var former sync.WaitGroup
	former.Go(func() {
		if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
			t.Errorf("the former's shift: %v, %v", ended, err)
		}
	})
	<-h.met
	paused, err := m.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	next := m.process(t, postgres.RoleAPI, "build-2")
	envelope, err := next.RequalifyPreview(t.Context(), planner, paused.Tenant, paused.ID, paused.PlanHash, m.qualified(t, next))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := hashOf(envelope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Approve(t.Context(), approver, paused.Tenant, paused.ID, hash); err != nil {
		t.Fatal(err)
	}
	carried, err := next.Requalify(t.Context(), planner, paused.Tenant, paused.ID, hash)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := next.Resume(t.Context(), planner, carried.Tenant, carried.ID, carried.PlanHash); err != nil {
		t.Fatal(err)
	}
	close(h.released) // no checkpoint is held any more
	former.Wait()
	if at := m.total(t, active); at.Moved != 0 || at.Passes != 0 {
		t.Errorf("the former build has committed %+v", at)
	}
	m.unchanged(t, before)
	m.api, m.Service = next, m.process(t, postgres.RoleWorker, "build-2")
	if run := m.run(t, m.now(t, active.ID)); run.Outcome != OutcomeDrained {
		t.Errorf("the run is %+v", run)
	}
	m.unchanged(t, before)
}
