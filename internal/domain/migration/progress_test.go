package migration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func (m *moving) progress(t testing.TB, of Migration) Progress {
	t.Helper()
	p, err := m.api.Progress(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	if m.sum(t, `SELECT count(*) FROM migration_checkpoints`) > 0 {
		left := Left{
			Records:  m.sum(t, `SELECT count(DISTINCT (collection_id, item_key)) FROM sections_in_sql`),
			Sections: m.sum(t, `SELECT count(*) FROM sections_in_sql`), Whole: true,
		}
		if p.Left != left {
			t.Errorf("%+v is left, and the progress tells of %+v", left, p.Left)
		}
	}
	if moved := m.sum(t, `SELECT coalesce(sum(moved), 0)::bigint FROM migration_checkpoints`); p.Total.Moved != moved {
		t.Errorf("%d are moved, and the progress tells of %+v", moved, p.Total)
	}
	return p
}

// passes is a budget of so many.
func passes(n int) budget {
	return func(ctx context.Context) (record.Caps, bool) {
		n--
		caps, _ := unlimited(ctx)
		return caps, n >= 0
	}
}

func TestProgress_TellsOfEachCollectionWhatIsMovedAndLeft(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 20)
	m.fill(t, "invoices", 11)
	asked := m.ask(t, RecordBodies)
	if p := m.progress(t, asked); len(p.Collections) != 0 || p.Next != NextNothing || p.Left.Records != 0 {
		t.Errorf("before it is planned: %+v", p)
	}
	approved := m.approved(t, asked)
	a, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	p := m.progress(t, a.Migration)
	if p.Left.Records != 31 || p.Total != (Counters{}) || p.Run != nil || p.Remaining != nil || len(p.Awaited) != 0 {
		t.Errorf("when it is active: %+v", p)
	}
	run, err := m.api.Run(t.Context(), planner, a.Tenant, a.ID, a.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	orders := p.Collections[slices.IndexFunc(p.Collections, func(c CollectionProgress) bool { return c.Collection == "orders" })]
	if ended, err := m.walk(t.Context(), a.Tenant, record.NumberOf("orders"), orders.CollectionID, passes(2)); err != nil || ended != walkSpent {
		t.Fatalf("the walk ended as %q, %v", ended, err)
	}
	p = m.progress(t, a.Migration)
	if p.Total.Moved == 0 || p.Left.Records+p.Total.Moved != 31 || p.Run == nil || p.Run.ID != run.ID || p.Next != NextPasses || len(p.Reasons) != 0 {
		t.Errorf("when it is under way: %+v", p)
	}
	if p.Collections[0].Collection != "invoices" || p.Collections[0].Left.Records != 11 || p.Collections[1].Moved != p.Total.Moved {
		t.Errorf("the lines are %+v", p.Collections)
	}
	m.worked(t, m.Service, run)
	p = m.progress(t, m.now(t, a.ID))
	if p.Total.Moved != 31 || p.Left != (Left{Whole: true}) || p.Run != nil || p.Next != NextNothing || len(p.Reasons) != 0 {
		t.Errorf("when it is drained: %+v", p)
	}
}

func TestProgress_TellsWhoPausedIt_AndWhichCapsAreLowered(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	active := m.active(t, RecordBodies)
	one := Caps{Inspected: 64, Records: 1, Bytes: 8 << 20, InFlight: 4}
	if _, err := m.api.LowerCaps(t.Context(), planner, active.Tenant, active.ID, active.PlanHash, one); err != nil {
		t.Fatal(err)
	}
	p := m.progress(t, m.now(t, active.ID))
	if want := []Reason{{ReasonNoRun, ""}, {ReasonCaps, "1 of 4 records"}}; !slices.Equal(p.Reasons, want) {
		t.Errorf("the reasons are %+v, want %+v", p.Reasons, want)
	}
	if _, err := m.api.Pause(t.Context(), planner, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	p = m.progress(t, m.now(t, active.ID))
	if p.PausedBy != "planner" || !slices.Equal(p.Reasons, []Reason{{ReasonPaused, "planner"}}) {
		t.Errorf("paused: by %q, %+v", p.PausedBy, p.Reasons)
	}
}

func TestProgress_NamesTheCollectionsThatHaveNotAcceptedThePlan(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	all := []record.Collection{m.fill(t, "orders", 1), m.fill(t, "invoices", 1), m.fill(t, "notes", 1)}
	activating := m.approved(t, m.ask(t, RecordBodies))
	activating.State = Activating
	if err := m.api.accept(t.Context(), &activating, all[1]); err != nil {
		t.Fatal(err)
	}
	p, err := m.api.Progress(t.Context(), activating)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Awaited, []string{"notes", "orders"}) || len(p.Collections) != 1 || !slices.Equal(p.Reasons, []Reason{{ReasonActivating, "2"}}) {
		t.Errorf("awaited are %q behind %+v: %+v", p.Awaited, p.Collections, p.Reasons)
	}
}

// What is left is counted to an end, however much there is.
func TestProgress_CountsUpToABound(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 0)
	m.plant(t, c, 60)
	if err := m.api.accept(t.Context(), &m.plan, c); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]Left{100: {50, 100, false}, 120: {60, 120, false}, 121: {60, 120, true}} {
		all, err := m.api.progressOfEach(t.Context(), &m.plan, most)
		if err != nil || len(all) != 1 || all[0].Left != want {
			t.Errorf("up to %d: %+v, %v", most, all, err)
		}
	}
}

// Who reviews a migration that stopped since its tenant was suspended sees how far
// it is.
func TestProgress_OfASuspendedTenant(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 4)
	active := m.active(t, RecordBodies)
	if _, err := m.api.control.SuspendTenant(t.Context(), operator("ada"), active.Tenant); err != nil {
		t.Fatal(err)
	}
	if p := m.progress(t, active); p.Left.Records != 4 {
		t.Errorf("the progress is %+v", p)
	}
	if all := m.deferred(t, active); len(all) != 0 {
		t.Errorf("deferred are %+v", all)
	}
}

// BenchmarkProgress counts what is left of 100,000 records of two sections.
func BenchmarkProgress(b *testing.B) {
	m := newMoving(b)
	for i := range 4 {
		c := m.fill(b, fmt.Sprint("orders-", i), 0)
		m.plant(b, c, 25_000)
		if err := m.api.accept(b.Context(), &m.plan, c); err != nil {
			b.Fatal(err)
		}
	}
	m.every(b, `VACUUM ANALYZE sections_in_sql`)
	for b.Loop() {
		if p, err := m.api.Progress(b.Context(), m.plan); err != nil || p.Left.Records != 100_000 {
			b.Fatalf("left is %+v, %v", p.Left, err)
		}
	}
}
