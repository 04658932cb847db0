package migration

import (
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// underWay has a pass over a collection prepared, something else done then, and the
// pass go on to its commit. It gives how the walk ended, which makes no other pass.
func (m *moving) underWay(t *testing.T, of Migration, meanwhile func()) (ended walked) {
	t.Helper()
	h := newHeld()
	m.onBodies("GET", h.fault)
	c := m.at(t, of)[0]
	var walk sync.WaitGroup
	walk.Go(func() {
		var err error
		if ended, err = m.walk(t.Context(), m.scope.Tenant, c.number, c.CollectionID, once()); err != nil {
			t.Errorf("the walk: %v", err)
		}
	})
	<-h.met
	meanwhile()
	close(h.released)
	walk.Wait()
	return ended
}

// R12: a record that is published while a pass has it keeps what was published, in
// each of its sections, and moves with a later pass.
func TestPass_ARecordThatIsPublishedMeanwhile_KeepsItsState(t *testing.T) {
	t.Parallel()
	installation := newMoving(t)
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		m := installation.another(t, kind)
		m.fill(t, "orders", 4)
		before := m.question(t)
		active := m.active(t, kind)
		var receipts []record.Receipt
		m.underWay(t, active, func() { // of two records with two sections each, of which one stays
			receipts = append(receipts, m.publish(t, "orders", items("key-0001", "meanwhile", 1)), m.publish(t, "orders", items("key-0002", "meanwhile", 1)))
		})
		if at := m.total(t, active); at.Moved != 2 || at.Raced != 2 {
			t.Errorf("%s: the totals are %+v", kind, at)
		}
		before.published(t, m.question(t), "orders", receipts...)
		m.finish(t, active.ID)
		before.published(t, m.question(t), "orders", receipts...)
	}
}

// A pass that is under way meets a pause at its commit.
func TestPass_APauseMeanwhile_KeepsItFromCommitting(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 4)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	ended := m.underWay(t, active, func() {
		if _, err := m.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
			t.Error(err)
		}
	})
	if at := m.total(t, active); ended != walkHeld || at.Moved != 0 || at.Passes != 0 {
		t.Errorf("the walk ended as %q with %+v", ended, at)
	}
	m.unchanged(t, before)
	m.finish(t, active.ID)
	m.unchanged(t, before)
}

// A collection that isn't in the format that the plan takes it to any more, whoever
// has done that, isn't moved.
func TestPass_AnotherFormatMeanwhile_KeepsItFromCommitting(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 4)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	format := func(format int16) {
		for _, admin := range m.admin {
			if _, err := admin.Exec(t.Context(), `UPDATE collections SET record_format = $1`, format); err != nil {
				t.Error(err)
			}
		}
	}
	m.underWay(t, active, func() { format(record.FormatSQL) })
	if at := m.total(t, active); at.Moved != 0 || at.Passes != 0 {
		t.Errorf("the totals are %+v", at)
	}
	format(record.FormatStore)
	m.unchanged(t, before)
	m.finish(t, active.ID)
	m.unchanged(t, before)
}
