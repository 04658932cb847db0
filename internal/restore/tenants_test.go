package restore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// What a restored database doesn't know of its tenants it learns from their control
// rows: who is suspended, and of whom nothing may be there.
func TestTenants_AreWhatTheirControlRowsSay(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.account(t, "data2", in.on("data2", "ada", ""), "")
	in.account(t, "data1", in.on("data2", "ben", ""), "")
	backup := in.backup(t, "data2")
	_, err := in.store.SuspendTenant(t.Context(), operator, in.tenant.ID)
	must(t, err)
	in.putBack(t, backup)

	_, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if len(l.notes) != 1 || l.notes[0].Kind != "gates" {
		t.Errorf("it noted %+v", l.notes)
	}
	in.open(t, "data2")
	_, err = in.directory.LookupHandle(t.Context(), in.scope, in.on("data2", "ada", ""))
	wantCode(t, err, "tenant_suspended")
	in.expectSound(t) // a suspended tenant's too

	// The purge ended while data2 was being restored once more.
	backup = in.backup(t, "data2")
	_, err = in.databases.Admin(t, "control").Exec(t.Context(), `UPDATE tenants SET state = 'purged', revision = revision + 1`)
	must(t, err)
	in.putBack(t, backup)
	_, l = in.closeAndReconcile(t, "data2", restore.Request{})
	if removed := l.tenants[0].Removed; removed == 0 {
		t.Error("nothing of the purged tenant was removed")
	}
	var left int
	must(t, in.databases.Admin(t, "data2").QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM accounts) + (SELECT count(*) FROM claims) + (SELECT count(*) FROM events) + (SELECT count(*) FROM event_counters)`).Scan(&left))
	if left > 0 {
		t.Errorf("%d rows of it are left", left)
	}
	_, l = in.reconcile(t, restore.Request{})
	if l.tenants[0].Removed > 0 {
		t.Error("once more there was something to remove")
	}
}

// A control database that was put back learns from the gates: who is suspended, and
// whom it has forgotten. Every process drops what it remembered.
func TestControlDatabase_IsPutInStepWithTheGates(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	ctx := t.Context()
	backup := in.backup(t, "control")
	_, err := in.store.SuspendTenant(ctx, operator, in.tenant.ID)
	must(t, err)
	forgotten := in.newTenant(t, "initech")
	in.putBack(t, backup)

	if tenant, err := in.store.Tenant(ctx, operator, in.tenant.ID); err != nil || tenant.State != tenancy.TenantActive {
		t.Fatalf("the control database says %+v, %v", tenant, err)
	}
	done, l := in.reconcile(t, restore.Request{Control: true})
	if done.Control.Tenants != 1 || done.Control.Adopted != 1 || done.Control.Counter <= 1<<40-1 || done.Decisions != 0 || len(l.notes) != 3 {
		t.Errorf("it came to %+v, %+v", done, l.notes)
	}
	if tenant, err := in.store.Tenant(ctx, operator, in.tenant.ID); err != nil || tenant.State != tenancy.TenantSuspended {
		t.Errorf("the tenant is %+v, %v", tenant, err)
	}
	adopted, err := in.store.Tenant(ctx, operator, forgotten.ID)
	if err != nil || adopted.State != tenancy.TenantSuspended {
		t.Errorf("the forgotten one is %+v, %v", adopted, err)
	}
	if _, err := in.store.ResumeTenant(ctx, operator, forgotten.ID); err != nil {
		t.Errorf("it can't be resumed: %v", err)
	}
	done, _ = in.reconcile(t, restore.Request{Control: true})
	if done.Control.Tenants+done.Control.Adopted > 0 {
		t.Errorf("once more it came to %+v", done.Control)
	}
}

// That the control database was restored is noticed, and nothing is opened before
// somebody has said so.
func TestAControlDatabaseBehindItsGates_HasToBeOwnedUpTo(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	control, data := in.backup(t, "control"), in.backup(t, "data2")
	_, err := in.store.SuspendTenant(t.Context(), operator, in.tenant.ID)
	must(t, err)
	in.putBack(t, control)
	in.putBack(t, data)
	done, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if done.Decisions != 1 || l.decisions[0].Kind != restore.ControlBehind {
		t.Errorf("it came to %+v, %+v", done, l.decisions)
	}
	if done, _ = in.reconcile(t, restore.Request{Control: true}); done.Decisions != 0 {
		t.Errorf("told it came to %+v", done)
	}
	in.open(t, "data2")
}

// A database that is put back while it is being reconciled is another one, though it
// says of itself that it is closed: what was done to it may be undone.
func TestPutBackOnceMore_BeginsAnotherRestore(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.closeAndReconcile(t, "data2", restore.Request{})
	backup := in.backup(t, "data2")
	var first, second domain.RestoreID
	last := func() (id domain.RestoreID) {
		states, err := restore.Show(t.Context(), in.owner)
		must(t, err)
		return states[1].ID
	}
	first = last()
	in.putBack(t, backup)
	_, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if second = last(); second == first || len(l.tenants) != 1 {
		t.Errorf("the restore is %v, and was %v", second, first)
	}
	var eras int64
	err := in.databases.Admin(t, "data2").QueryRow(t.Context(), `SELECT min(last) >> 40 FROM event_counters`).Scan(&eras)
	if err != nil && err != pgx.ErrNoRows || eras != 2 {
		t.Errorf("its streams are in the era %d, %v", eras, err)
	}
	in.open(t, "data2")
}
