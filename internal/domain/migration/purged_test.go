package migration

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/purge"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// R11: the tenant is deleted and purged in the middle of a run, whose pass is on its
// way to the bucket. The pass commits nothing, the run goes no further, and what it
// brought to the bucket late is purged too.
func TestRun_OfATenantWhoIsPurgedMeanwhile_WritesNothingMore(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 12)
	active := m.active(t, RecordBodies)
	run := m.openRun(t, active)
	h := newHeld()
	m.onBodies("PUT", h.fault)
	type end struct {
		ended bool
		err   error
	}
	shift := make(chan end, 1)
	go func() {
		ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(20*time.Second))
		shift <- end{ended, err}
	}()
	<-h.met
	w := m.purger(t)
	m.purgeUntil(t, w, "wait")
	close(h.released)
	if e := <-shift; !e.ended && e.err == nil {
		t.Error("the shift ended as if another could follow")
	}
	m.purgeUntil(t, w, "done")
	for name, admin := range m.admin {
		for _, table := range []string{"collections", "records", "sections_in_sql", "sections_in_store", "migration_checkpoints"} {
			var left int
			if err := admin.QueryRow(t.Context(), fmt.Sprintf(`SELECT count(*) FROM %s`, table)).Scan(&left); err != nil || left != 0 {
				t.Errorf("%s has %d rows in %s, %v", name, left, table, err)
			}
		}
	}
	objects, _, err := testkit.OpenBodies(t, testkit.BodyStore(t)).List(t.Context(), "tenants/"+m.scope.Tenant.String()+"/", "", 1)
	if err != nil || len(objects) != 0 {
		t.Errorf("left are %v, %v", objects, err)
	}
	if open, err := m.OpenWork(t.Context(), 10); err != nil || len(open) != 0 {
		t.Errorf("there is work left: %v, %v", open, err)
	}
	// A worker that comes to the run by a job that it had before finds nothing to do.
	if ended, err := m.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Second)); !ended && err == nil {
		t.Error("a run of a purged tenant goes on")
	}
}

// purger is a worker that purges, for which every grace is over.
func (m *moving) purger(t *testing.T) *purge.Service {
	t.Helper()
	router := m.Service.router
	later := func() time.Time { return time.Now().Add(2 * tenancy.DeletionGrace) }
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, later)
	shown, err := m.api.control.Tenant(t.Context(), operator("ada"), m.scope.Tenant)
	var asked tenancy.Deletion
	if err == nil {
		asked, err = m.api.control.AskDeletion(t.Context(), operator("ada"), m.scope.Tenant, shown.Revision)
	}
	if err == nil {
		_, err = m.api.control.ApproveDeletion(t.Context(), operator("grace"), m.scope.Tenant, asked.Tenant.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	return purge.New(router, store, testkit.OpenBodies(t, testkit.BodyStore(t)), purge.Options{Settle: time.Nanosecond})
}

// purgeUntil goes on until the purge is at a step.
func (m *moving) purgeUntil(t *testing.T, w *purge.Service, step string) {
	t.Helper()
	for range 2000 {
		d, err := m.api.control.Deletion(t.Context(), operator("ada"), m.scope.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		if d.Purge != nil && d.Purge.Step == step {
			return
		}
		if _, err := w.Step(t.Context(), m.scope.Tenant); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("the purge doesn't come to %s", step)
}
