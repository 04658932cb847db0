package record

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// mover moves a collection's bodies, as a worker of a migration does.
type mover struct {
	*Service // with the worker's role
	api      *keeper
	name     string
	caps     Caps
}

func (k *keeper) mover(t testing.TB, collection string, options Options) *mover {
	t.Helper()
	return &mover{
		Service: k.serve(t, k.in.Router(t, postgres.RoleWorker), options), api: k, name: collection,
		caps: Caps{Inspected: 64, Records: 4, Bytes: 8 << 20, InFlight: 4},
	}
}

func other(format int16) int16 { return FormatSQL + FormatStore - format }

// locked does what there is to do with the collection under its lock.
func (m *mover) locked(t testing.TB, s *Service, do func(tx *tenancy.Tx, r *Reread)) error {
	t.Helper()
	c, err := m.api.Collection(t.Context(), m.api.scope, m.name)
	if err != nil {
		t.Fatal(err)
	}
	number := numberOf(m.name)
	return tenancy.Run(t.Context(), s.router.Database(number), s.entry(m.api.scope.Tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		r := s.Lock(tx, m.api.scope.Tenant, m.name, c.ID)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		do(tx, r)
		return nil
	})
}

// turn changes the collection's format, as the API does when a plan is accepted,
// and gives where its rows end.
func (m *mover) turn(t testing.TB, to int16) (frontier int64) {
	t.Helper()
	err := m.locked(t, m.api.Service, func(tx *tenancy.Tx, r *Reread) {
		frontier = r.Frontier()
		r.Switch(tx, to)
	})
	if err != nil {
		t.Fatal(err)
	}
	return frontier
}

func (m *mover) seal(t testing.TB) error {
	return m.locked(t, m.api.Service, func(tx *tenancy.Tx, r *Reread) { r.Seal(tx) })
}

// capture captures and prepares a pass out of a format. Whoever gets it closes it.
func (m *mover) capture(t testing.TB, from int16, after Cursor, upTo int64) (*Capture, Prepared) {
	t.Helper()
	c, err := m.Capture(t.Context(), m.api.scope.Tenant, m.name, Selection{From: from, After: after, UpTo: upTo, Caps: m.caps})
	if err != nil {
		t.Fatalf("capture behind %+v: %v", after, err)
	}
	p, err := m.Prepare(t.Context(), c, NewPipelines(m.caps.InFlight))
	if err != nil {
		t.Fatalf("prepare behind %+v: %v", after, err)
	}
	return c, p
}

// commit moves what is as it was, and gives how many records that is.
func (m *mover) commit(t testing.TB, c *Capture, p Prepared) (moved int, err error) {
	t.Helper()
	number := numberOf(m.name)
	err = tenancy.Run(t.Context(), m.router.Database(number), m.entry(m.api.scope.Tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		r := c.QueueReread(tx, p.Sound)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		same := r.Unchanged()
		moved = len(same)
		return r.Move(ctx, tx, same)
	})
	return moved, err
}

// pass makes one pass, and gives from where to go on; more is false at the end.
func (m *mover) pass(t testing.TB, from int16, after Cursor, upTo int64) (next Cursor, more bool, moved int) {
	t.Helper()
	c, p := m.capture(t, from, after, upTo)
	defer c.Close()
	if len(p.Defects) > 0 {
		t.Errorf("defects: %+v", p.Defects)
	}
	moved, err := m.commit(t, c, p)
	if err != nil {
		t.Fatalf("commit a pass behind %+v: %v", after, err)
	}
	return c.After, c.More, moved
}

// walk makes passes out of a format to the end, and what there is to look at in
// between.
func (m *mover) walk(t testing.TB, from int16, upTo int64, between func()) (moved int) {
	t.Helper()
	for at, more := (Cursor{}), true; more && !t.Failed(); {
		var n int
		at, more, n = m.pass(t, from, at, upTo)
		moved += n
		between()
	}
	return moved
}

// over takes the whole collection to a format.
func (m *mover) over(t testing.TB, to int16, between func()) {
	t.Helper()
	m.walk(t, other(to), m.turn(t, to), between)
}

func expectDemand(t testing.TB, err error) {
	t.Helper()
	if err == nil || domain.KindOf(err) == domain.KindInvalid {
		t.Errorf("it went on, with %v", err)
	}
}

// commitBlindly moves what was prepared without looking whether it is still so.
func (m *mover) commitBlindly(t testing.TB, c *Capture, p Prepared) error {
	t.Helper()
	number := numberOf(m.name)
	return tenancy.Run(t.Context(), m.router.Database(number), m.entry(m.api.scope.Tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		r := c.QueueReread(tx, p.Sound)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		return r.Move(ctx, tx, p.Sound)
	})
}
