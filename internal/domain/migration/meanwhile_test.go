package migration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
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
