package restore_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/purge"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// doom has the tenant's deletion asked for, by grace, and approved, by ada.
func (in *installation) doom(t *testing.T) {
	t.Helper()
	asker, approver := operator, operator
	asker.Principal, approver.Principal = domain.RandomID[domain.PrincipalKind](), domain.RandomID[domain.PrincipalKind]()
	approver.Name, approver.Scopes = "ada", tenancy.OperatorScopes()
	now, err := in.store.Tenant(t.Context(), operator, in.tenant.ID)
	must(t, err)
	asked, err := in.store.AskDeletion(t.Context(), asker, in.tenant.ID, now.Revision)
	must(t, err)
	_, err = in.store.ApproveDeletion(t.Context(), approver, in.tenant.ID, asked.Tenant.Revision)
	must(t, err)
}

// work has a worker do up to so many steps of all that is due, so many days from now.
func (in *installation) work(t *testing.T, days, steps int) {
	t.Helper()
	now := time.Now().AddDate(0, 0, days)
	clock := func() time.Time { return now }
	router := in.databases.Router(t, postgres.RoleWorker)
	worker := purge.New(router, tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, clock), nil, purge.Options{Now: clock})
	for range steps {
		due, err := worker.Due(t.Context(), 10)
		must(t, err)
		if len(due) == 0 {
			return
		}
		for _, id := range due {
			_, err := worker.Step(t.Context(), id)
			must(t, err)
		}
	}
}

// everything is more steps than a purge of these tests has.
const everything = 500

func (in *installation) expectState(t *testing.T, state string) tenancy.Tenant {
	t.Helper()
	is, err := in.store.Tenant(t.Context(), operator, in.tenant.ID)
	must(t, err)
	if is.State != state {
		t.Errorf("the tenant is %s, want %s", is.State, state)
	}
	return is
}

// accounts counts those that are left on two databases.
func (in *installation) accounts(t *testing.T) (left int) {
	t.Helper()
	for _, name := range []string{"data1", "data2"} {
		var some int
		must(t, in.databases.Admin(t, name).QueryRow(t.Context(), `SELECT count(*) FROM accounts`).Scan(&some))
		left += some
	}
	return left
}

func (in *installation) exec(t *testing.T, database, sql string) {
	t.Helper()
	_, err := in.databases.Admin(t, database).Exec(t.Context(), sql)
	must(t, err)
}

func (in *installation) twoAccounts(t *testing.T) {
	t.Helper()
	in.account(t, "data1", in.on("data1", "ada", ""), "")
	in.account(t, "data2", in.on("data2", "ben", ""), "")
}

// A deletion that was called off in the time that the control database lost stays
// called off.
func TestControlDatabase_LetsACalledOffDeletionRest(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.twoAccounts(t)
	in.doom(t)
	backup := in.backup(t, "control")
	_, err := in.store.CancelDeletion(t.Context(), operator, in.tenant.ID)
	must(t, err)
	in.putBack(t, backup)

	done, _ := in.reconcile(t, restore.Request{Control: true})
	if done.Control.Tenants != 1 || done.Control.Grace != 0 || done.Decisions != 0 {
		t.Errorf("it came to %+v, and %d decisions", done.Control, done.Decisions)
	}
	in.work(t, 400, everything)
	in.expectState(t, tenancy.TenantActive)
	in.expectSound(t)
	if n := in.accounts(t); n != 2 {
		t.Errorf("%d accounts are left", n)
	}
	in.doom(t) // nothing of the former one is in the way
	in.work(t, 8, everything)
	in.work(t, 9, everything)
	in.expectState(t, tenancy.TenantPurged)
}

// A deletion whose grace is long over gets a new one: its hold may be lost.
func TestControlDatabase_GivesDeletionsANewGrace(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.twoAccounts(t)
	in.doom(t)
	in.exec(t, "control", `UPDATE tenant_deletions SET purge_after = now() - interval '1 day'`)
	backup := in.backup(t, "control")
	_, err := in.store.HoldTenant(t.Context(), operator, in.tenant.ID, "Case 4711")
	must(t, err)
	in.putBack(t, backup)

	done, l := in.reconcile(t, restore.Request{Control: true})
	if done.Control.Grace != 1 || done.Decisions != 0 || len(l.notes) != 2 {
		t.Errorf("it came to %+v, %+v", done.Control, l.notes)
	}
	in.work(t, 6, everything)
	in.expectState(t, tenancy.TenantDeleting)
	in.work(t, 8, 1)
	in.expectState(t, tenancy.TenantPurging)
}

// A tenant whose purge has ended, and which the control database has back, is purged
// there too: its keys must not work again.
func TestControlDatabase_FinishesWhatWasPurgedMeanwhile(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.twoAccounts(t)
	in.doom(t)
	backup := in.backup(t, "control")
	in.work(t, 8, everything)
	in.expectState(t, tenancy.TenantPurged)
	in.putBack(t, backup)

	for range 2 { // once more changes nothing
		done, l := in.reconcile(t, restore.Request{Control: true})
		if done.Control.Held+done.Control.Grace != 0 || done.Decisions != 0 {
			t.Errorf("it came to %+v, %+v", done.Control, l.notes)
		}
	}
	in.work(t, 0, everything)
	in.expectState(t, tenancy.TenantPurged)
	var step string
	must(t, in.databases.Admin(t, "control").QueryRow(t.Context(), `SELECT step FROM tenant_purges`).Scan(&step))
	if step != "done" {
		t.Errorf("the purge is at %s", step)
	}
}

// A purge that began in the lost time and was held then doesn't go on: the tenant is
// suspended, with what is left of it.
func TestControlDatabase_SuspendsWhatWasHeldMeanwhile(t *testing.T) {
	t.Parallel()
	for _, state := range []string{tenancy.TenantDeleting, tenancy.TenantPurging} {
		t.Run("restored as "+state, func(t *testing.T) {
			t.Parallel()
			in := newInstallation(t)
			in.twoAccounts(t)
			in.doom(t)
			backup := in.backup(t, "control")
			in.work(t, 8, 2) // its gates are closed
			if state == tenancy.TenantPurging {
				backup = in.backup(t, "control")
			}
			_, err := in.store.HoldTenant(t.Context(), operator, in.tenant.ID, "Case 4711")
			must(t, err)
			in.putBack(t, backup)
			in.expectState(t, state)

			done, _ := in.reconcile(t, restore.Request{Control: true})
			if done.Control.Deleting != 1 || done.Control.Purged+done.Control.Held != 0 || done.Decisions != 0 {
				t.Errorf("it came to %+v, and %d decisions", done.Control, done.Decisions)
			}
			in.work(t, 400, everything)
			in.expectState(t, tenancy.TenantSuspended)
			if n := in.accounts(t); n != 2 {
				t.Errorf("%d accounts are left", n)
			}
			in.doom(t) // nothing of the former one is in the way
			in.work(t, 8, everything)
			in.expectState(t, tenancy.TenantPurged)
		})
	}
}

// A purge that both restored databases know of gets a hold, in case it had one.
func TestControlDatabase_HoldsPurges(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.twoAccounts(t)
	in.doom(t)
	in.work(t, 8, 2)
	done, _ := in.reconcile(t, restore.Request{Control: true})
	if done.Control.Held != 1 || done.Decisions != 0 {
		t.Errorf("it came to %+v", done.Control)
	}
	in.work(t, 400, everything)
	if is := in.expectState(t, tenancy.TenantPurging); is.Hold == nil {
		t.Error("it has no hold")
	}
	if n := in.accounts(t); n != 2 {
		t.Errorf("%d accounts are left", n)
	}
	_, err := in.store.LiftHold(t.Context(), operator, in.tenant.ID)
	must(t, err)
	in.work(t, 8, everything)
	in.expectState(t, tenancy.TenantPurged)
}
