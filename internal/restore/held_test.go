package restore_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// What a restore brings back of a tenant under a legal hold stays. When the hold is
// lifted the tenant's purge has it, however far it had come.
func TestReconcile_DeletesNothingOfATenantThatIsHeld(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.twoAccounts(t)
	backup := in.backup(t, "data2")
	in.doom(t)
	in.work(t, 8, 2)
	in.exec(t, "control", `UPDATE tenant_purges SET step = 'counts'`)
	_, err := in.store.HoldTenant(t.Context(), operator, in.tenant.ID, "Case 4711")
	must(t, err)
	in.putBack(t, backup)

	_, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if l.tenants[0].Removed > 0 {
		t.Errorf("%d rows were removed", l.tenants[0].Removed)
	}
	in.open(t, "data2")
	in.work(t, 400, everything)
	if n := in.accounts(t); n != 2 {
		t.Errorf("%d accounts are left", n)
	}
	_, err = in.store.LiftHold(t.Context(), operator, in.tenant.ID)
	must(t, err)
	in.work(t, 8, everything)
	in.expectState(t, tenancy.TenantPurged)
	if n := in.accounts(t); n != 0 {
		t.Errorf("%d accounts are left", n)
	}
}
