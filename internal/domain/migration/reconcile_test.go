package migration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A database is put back to where a collection of its own hadn't come as far as its
// migration says. Wherever that was, the migration goes on from there, or another
// one does, and readers are told what they were told before.
func TestReconcile_AMigrationGoesOnFromWhereItsCollectionsAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		before   func(m *moving, t *testing.T, approved Migration) // the backup
		after    func(m *moving, t *testing.T, approved Migration) // and then
		stopped  State                                             // where a resumption leads back to; "" if it isn't stopped
		setbacks int
	}{
		{"to before the activation, from a run", nothing, activate, Activating, 0},
		{"to before the activation, from its end", nothing, finish, "", 1},
		{"to the middle, from its end", midway, finish, Active, 0},
		{"to the middle, from behind it", midway, nothing, Active, 0},
		{"to its end, from its end", finish, nothing, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t)
			m.fill(t, "orders", 12)
			m.fill(t, "invoices", 3)
			told := m.question(t)
			approved := m.approved(t, m.ask(t, RecordBodies, "orders", "invoices"))
			home := m.router.Database(domain.NumberOf("orders"))
			c.before(m, t, approved)
			backup := m.backup(t, home.Name)
			c.after(m, t, approved)
			m.putBack(t, backup)

			restored := &domain.Restored{}
			for _, n := range home.Numbers {
				restored[n] = domain.NewID[domain.RestoreKind](time.Now())
			}
			owner := m.owner(t)
			for _, first := range []bool{true, false} {
				var setbacks []Setback
				done, err := owner.Reconcile(t.Context(), m.scope.Tenant, restored, func(b Setback) error { setbacks = append(setbacks, b); return nil })
				if err != nil {
					t.Fatal(err)
				}
				want := Reconciled{Setbacks: int64(c.setbacks)}
				if first && c.stopped != "" {
					want.Stopped = 1
				}
				if diff := cmp.Diff(want, done); diff != "" || len(setbacks) != c.setbacks {
					t.Errorf("it came to (-want +got)\n%s%+v", diff, setbacks)
				}
			}
			now := m.now(t, approved.ID)
			switch {
			case c.stopped == "":
				if now.State != Closed {
					t.Errorf("the migration is %s", now.State)
				}
			case now.State != Stopped || now.Stop.Category != DatabaseRestored || now.Stop.From != c.stopped || now.Stop.NextStep == "":
				t.Errorf("the migration is %s, %+v", now.State, now.Stop)
			}
			m.finish(t, approved.ID)
			if c.setbacks > 0 {
				another := m.approved(t, m.ask(t, RecordBodies, "orders"))
				m.finish(t, another.ID)
			}
			if left := m.left(t, "sections_in_sql"); left > 0 {
				t.Errorf("%d sections are left in SQL", left)
			}
			m.unchanged(t, told)
		})
	}
}

func nothing(*moving, *testing.T, Migration) {}

func activate(m *moving, t *testing.T, of Migration) {
	t.Helper()
	if _, err := m.api.Activate(t.Context(), planner, of.Tenant, of.ID, of.PlanHash); err != nil {
		t.Fatal(err)
	}
}

func midway(m *moving, t *testing.T, of Migration) {
	t.Helper()
	activate(m, t, of)
	m.openRun(t, m.now(t, of.ID))
	m.step(t, of, "orders")
}

func finish(m *moving, t *testing.T, of Migration) {
	t.Helper()
	m.finish(t, of.ID)
}

// owner is the service as the owner of the databases has it.
func (m *moving) owner(t *testing.T) *Service {
	t.Helper()
	router := m.in.Router(t, postgres.RoleOwner)
	return New(router, tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now), (*record.Service)(nil), Options{})
}

func (m *moving) backup(t *testing.T, name string) testkit.Backup {
	t.Helper()
	defer m.reconnect()
	return m.in.Backup(t, name)
}

func (m *moving) putBack(t *testing.T, b testkit.Backup) {
	t.Helper()
	defer m.reconnect()
	b.PutBackWhole(t)
}

// reconnect drops the connections that were cut.
func (m *moving) reconnect() {
	for _, router := range []*postgres.Router{m.router, m.api.router} {
		for _, db := range router.Databases() {
			db.Pool.Reset()
		}
	}
	for _, pool := range m.admin {
		pool.Reset()
	}
}
