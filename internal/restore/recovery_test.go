package restore_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A whole server is backed up while it goes on, and recovered by its log to a moment
// that somebody names: everything that was acknowledged until then is there, nothing
// later, and it serves.
func TestRecovery_OfAServerToAPointInTime(t *testing.T) {
	t.Parallel()
	in := onDatabases(t, testkit.Apart(t, 1))
	ctx := t.Context()
	world := "north"
	_, err := in.worlds.CreateWorld(ctx, in.scope, world, lease.Policy{})
	must(t, err)
	_, _, err = in.records.CreateCollection(ctx, in.scope, record.NewCollection{Name: "ledger"})
	must(t, err)
	in.account(t, "data1", "ada", "ada@example.com")
	backup := in.databases.BaseBackup(t)

	in.account(t, "data1", "ben", "ben@example.com")
	holder := in.node(t, world)
	must(t, in.append(ctx, world, &holder, "kept"))
	in.publish(t, "ledger", "x", "kept", 0)
	in.databases.RestorePoint(t, "before the mistake")
	in.account(t, "data1", "cy", "cy@example.com")
	must(t, in.append(ctx, world, &holder, "lost"))
	in.publish(t, "ledger", "x", "lost", 1)

	recovered := in.with(t, backup.Recover(t, "before the mistake"))
	must(t, postgres.CheckSchema(ctx, recovered.router))
	must(t, postgres.CheckPlacement(ctx, recovered.router))
	recovered.expectSound(t)
	for _, handle := range []string{"ada", "ben"} {
		if _, err := recovered.directory.LookupHandle(ctx, in.scope, handle); err != nil {
			t.Errorf("%s: %v", handle, err)
		}
	}
	_, err = recovered.directory.LookupHandle(ctx, in.scope, "cy")
	wantCode(t, err, "account_not_found")

	data1 := recovered.owner.Named("data1")
	closed, err := restore.Close(ctx, data1, time.Now())
	must(t, err)
	if done, _ := recovered.reconcile(t, restore.Request{}); done.Decisions != 0 || done.Restored[0].ID != closed.ID {
		t.Errorf("it came to %+v", done)
	}
	recovered.open(t, "data1")
	wantCode(t, recovered.append(ctx, world, &holder, "late"), "fenced")
	recovered.account(t, "data1", "cy", "cy@example.com")
	recovered.publish(t, "ledger", "x", "anew", 1)
	recovered.expectSound(t)
}
