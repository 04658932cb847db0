package record

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// rereadUnlocked is QueueReread without the lock.
func (c *Capture) rereadUnlocked(ctx context.Context, tx *tenancy.Tx, records []*Captured) (*Reread, error) {
	r := &Reread{capture: c, records: records, now: map[string]*Captured{}}
	keys := make([]string, len(records))
	for i, record := range records {
		keys[i] = record.Key
	}
	queueReadCollection(tx, c.ref, &r.collection)
	reread := map[int16]string{FormatSQL: sqlCapturedInSQL, FormatStore: sqlCapturedInStore}[c.from]
	tx.Queue(reread, int16(c.ref.number), c.ref.name, keys).Query(func(rows pgx.Rows) error {
		all, err := scanCaptured(rows)
		for _, record := range all {
			r.now[record.Key] = record
		}
		return err
	})
	return r, tx.Send(ctx)
}

// tooLate is what a transaction comes to without locks that finds another there.
func tooLate(err error) bool {
	kind := domain.KindOf(err)
	return kind == domain.KindInternal || kind == domain.KindUnavailable
}

// roam makes passes without locks, now in this direction and now in that, as long as
// others go on, and gives how many records it moved.
func (m *mover) roam(t *testing.T, over *atomic.Bool) (moved int) {
	number, tenant := numberOf(m.name), m.api.scope.Tenant
	unlocked := func(do func(ctx context.Context, tx *tenancy.Tx) error) error {
		return tenancy.Run(t.Context(), m.router.Database(number), m.entry(tenant, number), do)
	}
	for to := FormatStore; !over.Load() && !t.Failed(); to = other(to) {
		m.api.setFormat(t, m.name, to) // which waits for nobody, and moves no token
		for at, more := (Cursor{}), true; more && !t.Failed(); {
			capture, err := m.Capture(t.Context(), tenant, m.name, Selection{From: other(to), After: at, UpTo: 1 << 40, Caps: m.caps})
			if err != nil {
				t.Errorf("capture: %v", err)
				return moved
			}
			p, err := m.Prepare(t.Context(), capture, NewPipelines(m.caps.InFlight))
			if err != nil || len(p.Defects) > 0 {
				t.Errorf("prepare: %+v, %v", p.Defects, err)
			}
			same := 0
			err = unlocked(func(ctx context.Context, tx *tenancy.Tx) error {
				r, err := capture.rereadUnlocked(ctx, tx, p.Sound)
				if err != nil {
					return err
				}
				if r.collection.format != to {
					same = 0
					return nil // the other mover goes the other way
				}
				unchanged := r.Unchanged()
				same = len(unchanged)
				return r.Move(ctx, tx, unchanged)
			})
			if err != nil && !tooLate(err) {
				t.Errorf("commit: %v", err)
			}
			if err == nil {
				moved += same
			}
			at, more = capture.After, capture.More
			capture.Close()
		}
	}
	return moved
}

// No promise rests on the collection's lock alone: with it taken away, by two movers
// that go in either direction and by those who publish, whatever comes too late
// stops. Everything that was acknowledged stands, once.
func TestMoves_WithTheLocksOff(t *testing.T) {
	t.Parallel()
	const publishers, keys, publications = 3, 4, 32
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	var all, movers sync.WaitGroup
	var over atomic.Bool
	var moved atomic.Int64
	for range 2 {
		m := k.mover(t, c, Options{})
		movers.Go(func() { moved.Add(int64(m.roam(t, &over))) })
	}
	for p := range publishers {
		process := k.unlocked(t)
		all.Go(func() {
			for n := range publications {
				key := fmt.Sprintf("key-%d-%d", p, n%keys)
				publication := Publication{
					Key: key, OperationID: fmt.Sprint(key, " ", n), Expect: Expectation{Fence: &Fence{key, int64(n + 1)}},
					Bodies: map[string][]byte{"items": versioned(key, "items", int64(n), n%11 == 0), "plans": versioned(key, "plans", int64(n), false)},
				}
				_, err := process.Publish(t.Context(), k.scope, c, nil, publication)
				for tries := 0; tooLate(err) && tries < 50; tries++ {
					_, err = process.Publish(t.Context(), k.scope, c, nil, publication)
				}
				if err != nil {
					t.Errorf("publish %s: %v", key, err)
					return
				}
			}
		})
	}
	all.Wait()
	over.Store(true)
	movers.Wait()
	t.Logf("%d records were moved", moved.Load())
	if moved.Load() < publishers*keys {
		t.Error("hardly any were")
	}
	k.finds(t) // before what is left moves, and has rows of its own anew
	m := k.mover(t, c, Options{})
	m.over(t, FormatStore, func() {})
	m.over(t, FormatSQL, func() {})
	if err := m.seal(t); err != nil {
		t.Error(err)
	}
	for p := range publishers {
		for n := publications - keys; n < publications; n++ {
			key := fmt.Sprintf("key-%d-%d", p, n%keys)
			for _, section := range []string{"items", "plans"} {
				if got := parsed(t, []byte(k.body(t, c, key, section)), key, section); got != int64(n) {
					t.Errorf("%s of %s is at %d, and %d was acknowledged", section, key, got, n)
				}
			}
			if r, err := k.Record(t.Context(), k.scope, c, key); err != nil || r.Revision != publications/keys {
				t.Errorf("%s is at %d, %v", key, r.Revision, err)
			}
		}
	}
	k.expectSound(t, c)
	k.finds(t)
}

// The identities that a move back gives to rows are the collection's next ones. If
// a publication took them meanwhile, in spite of the lock, the move stops.
func TestMove_BackStopsWhenOthersHaveTakenItsRows(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "a"))
	m := k.mover(t, c, Options{})
	m.turn(t, FormatSQL)
	capture, p := m.capture(t, FormatStore, Cursor{}, 0)
	defer capture.Close()
	number := numberOf(c)
	err := tenancy.Run(t.Context(), m.router.Database(number), m.entry(k.scope.Tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		r, err := capture.rereadUnlocked(ctx, tx, p.Sound)
		if err != nil {
			return err
		}
		k.publish(t, c, items("b", "b"))
		return r.Move(ctx, tx, r.Unchanged())
	})
	expectDemand(t, err)
	k.expectRows(t, c, "sequence 2, records 2, sections_in_sql 1, section_chunks 0, sections_in_store 1, export_entries 2, receipts 2, fences 0")
	k.finds(t)
}
