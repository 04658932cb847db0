package restore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

// One of three databases is put back to an earlier time while the others go on. What
// each had told its callers in the time that was lost is then either made true again,
// or refused for good, and of what nobody can know somebody is asked.
func TestUnequalRestore_OneOfThreeDatabases(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	ctx := t.Context()
	ada, ben, cy := in.on("data1", "ada", ""), in.on("data2", "ben", ""), in.on("data3", "cy", "")
	contested := in.on("data3", "both", "@example.com")
	lostMail, newMail := in.on("data1", "lost", "@example.com"), in.on("data2", "new", "@example.com")
	held, hosted := in.on("data2", "held", ""), in.on("data2", "hosted", "")
	ledger := in.on("data2", "ledger", "")

	// The time that all share.
	a := in.account(t, "data2", ada, contested)
	b := in.account(t, "data1", ben, in.on("data1", "ben", "@example.com"))
	c := in.account(t, "data2", cy, lostMail)
	for _, world := range []string{held, hosted} {
		_, err := in.worlds.CreateWorld(ctx, in.scope, world, lease.Policy{})
		must(t, err)
	}
	heldBefore := in.node(t, held)
	must(t, in.append(ctx, held, &heldBefore, "shared"))
	_, _, err := in.records.CreateCollection(ctx, in.scope, record.NewCollection{Name: ledger})
	must(t, err)
	in.publish(t, ledger, "x", "shared", 0)
	feedBefore, err := in.directory.Feed(ctx, in.scope, identity.FeedPosition{}, 1000)
	must(t, err)
	exportBefore, err := in.records.Export(ctx, in.scope, ledger, record.ExportRequest{})
	must(t, err)

	backup := in.backup(t, "data2")

	// The time that is lost to data2.
	_, err = in.directory.RemoveEmail(ctx, in.scope, a.ID, nil)
	must(t, err)
	x := in.account(t, "data1", in.on("data1", "xeno", ""), contested)
	_, err = in.directory.RemoveEmail(ctx, in.scope, c.ID, nil) // nobody takes it
	must(t, err)
	gone := in.account(t, "data2", in.on("data3", "gone", ""), in.on("data1", "gone", "@example.com"))
	fresh := in.account(t, "data3", in.on("data2", "fresh", ""), newMail)
	device, err := in.directory.CreateDevice(ctx, in.scope, identity.CreateDevice{})
	must(t, err)
	for in.router.Database(domain.NumberOf(device.ID.String())).Name != "data1" {
		device, err = in.directory.CreateDevice(ctx, in.scope, identity.CreateDevice{})
		must(t, err)
	}
	_, err = in.directory.ApproveDevice(ctx, in.scope, identity.CodeGuess{UserCode: device.UserCode.String(), Account: gone.ID}, nil)
	must(t, err)
	patched, err := in.directory.Patch(ctx, in.scope, a.ID, 2, identity.AccountPatch{Status: new(identity.Disabled)})
	must(t, err)
	heldLost := in.node(t, hosted)
	must(t, in.append(ctx, hosted, &heldLost, "lost"))
	must(t, in.append(ctx, held, &heldBefore, "lost"))
	lostReceipt := in.publish(t, ledger, "x", "lost", 1)
	in.publish(t, ledger, "y", "lost", 0)
	exportLost, err := in.records.Export(ctx, in.scope, ledger, record.ExportRequest{})
	must(t, err)
	feedLost, err := in.directory.Feed(ctx, in.scope, identity.FeedPosition{}, 1000)
	must(t, err)
	if found := in.checks(t); len(found) > 0 {
		t.Fatalf("before the restore the checks find %q", found)
	}

	in.putBack(t, backup)
	if found := in.checks(t); len(found) == 0 {
		t.Error("behind the restore the checks find nothing")
	}

	data2 := in.owner.Named("data2")
	closed, err := restore.Close(ctx, data2, time.Now())
	must(t, err)
	again, err := restore.Close(ctx, data2, time.Now())
	must(t, err)
	if closed.ID.IsZero() || again.ID != closed.ID || len(again.Open) > 0 {
		t.Errorf("closed it is %+v, and again %+v", closed, again)
	}
	_, err = in.directory.Get(ctx, in.scope, a.ID)
	wantCode(t, err, "partition_unavailable")
	if _, err := in.directory.Get(ctx, in.scope, b.ID); err != nil {
		t.Errorf("the others don't serve: %v", err)
	}
	if _, err := restore.Open(ctx, in.owner, data2, time.Now()); !errors.Is(err, restore.ErrUnreconciled) {
		t.Errorf("opening it unreconciled: %v", err)
	}

	// One address is two accounts': that has to be decided.
	done, l := in.reconcile(t, restore.Request{})
	if len(l.decisions) != 1 || done.Decisions != 1 || done.Restored[0].ReconciledAt != nil {
		t.Fatalf("it came to %+v, with %+v", done, l.decisions)
	}
	key := l.decisions[0].Key
	claimed := map[domain.RecordID]bool{}
	for _, of := range key.Records {
		claimed[of.Record] = of.Claimed
	}
	if diff := cmp.Diff(map[domain.RecordID]bool{domain.RecordID(a.ID): false, domain.RecordID(x.ID): true}, claimed); diff != "" || key.Number != domain.NumberOf(contested) {
		t.Errorf("the key of two is %+v\n%s", key, diff)
	}
	did := l.tenants[0].Identity
	if did.ClaimsRemoved < 2 {
		t.Errorf("only %d claims of what is gone were removed", did.ClaimsRemoved)
	}
	if did.ClaimsMade < 3 { // more if a user code stood there, which is drawn at random
		t.Errorf("only %d claims were made", did.ClaimsMade)
	}
	want := identity.Reconciled{ClaimsRemoved: did.ClaimsRemoved, ClaimsMade: did.ClaimsMade, DevicesRevoked: 1, Records: 2, Doubles: 1}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	if w := l.tenants[0].Lease; w.Worlds != 2 || w.Taken != 1 {
		t.Errorf("the worlds came to %+v", w)
	}
	if _, err := restore.Open(ctx, in.owner, data2, time.Now()); !errors.Is(err, restore.ErrUnreconciled) {
		t.Errorf("opening it undecided: %v", err)
	}

	done, l = in.reconcile(t, restore.Request{Keep: map[domain.RecordID]bool{domain.RecordID(x.ID): true}})
	if done.Decisions != 0 || l.tenants[0].Identity.Resolved != 1 || l.tenants[0].Lease.Worlds != 0 || l.tenants[0].Record.Collections != 0 {
		t.Errorf("decided it came to %+v, %+v", done, l.tenants)
	}
	done, l = in.reconcile(t, restore.Request{}) // as often as one likes
	if diff := cmp.Diff([]restore.Tenant{{ID: in.tenant.ID, Name: "acme"}}, l.tenants); diff != "" || done.Decisions != 0 {
		t.Errorf("once more it did (-want +got):\n%s", diff)
	}
	for range 2 {
		opened, err := restore.Open(ctx, in.owner, data2, time.Now())
		must(t, err)
		if opened.Word() != "open" || len(opened.Closed) > 0 {
			t.Errorf("opened it is %+v", opened)
		}
	}
	if found := in.checks(t); len(found) > 0 {
		t.Errorf("behind it all the checks find %q", found)
	}

	t.Run("keys lead where their records say", func(t *testing.T) {
		for email, want := range map[string]domain.AccountID{contested: x.ID, lostMail: c.ID, newMail: fresh.ID} {
			if found, err := in.directory.LookupEmail(ctx, in.scope, email); err != nil || found.ID != want {
				t.Errorf("%s leads to %v, %v", email, found.ID, err)
			}
		}
		for handle, want := range map[string]domain.AccountID{ada: a.ID, ben: b.ID, cy: c.ID} {
			if found, err := in.directory.LookupHandle(ctx, in.scope, handle); err != nil || found.ID != want {
				t.Errorf("%s leads to %v, %v", handle, found.ID, err)
			}
		}
		in.account(t, "data1", gone.Handle.String(), gone.Email.String()) // whose keys are free again
	})
	t.Run("the lost time's ETags match nothing", func(t *testing.T) {
		now, err := in.directory.Get(ctx, in.scope, a.ID)
		must(t, err)
		if !now.Email.IsZero() || now.Status != identity.Active {
			t.Errorf("the account that gave its address up is %+v", now)
		}
		_, err = in.directory.Patch(ctx, in.scope, a.ID, now.Revision, identity.AccountPatch{Status: new(identity.Disabled)})
		must(t, err)
		for revision := int64(1); revision <= patched.Revision+1; revision++ {
			_, err = in.directory.Patch(ctx, in.scope, a.ID, revision, identity.AccountPatch{Status: new(identity.Active)})
			wantCode(t, err, "revision_stale")
		}
		restored := in.publish(t, ledger, "x", "restored", 1)
		if restored.Revision <= lostReceipt.Revision {
			t.Errorf("a record comes to revision %d again", restored.Revision)
		}
		if made := in.publish(t, ledger, "y", "restored", 0); made.Revision <= 1 {
			t.Errorf("a record that was made in the lost time comes to revision %d again", made.Revision)
		}
	})
	t.Run("holders are fenced", func(t *testing.T) {
		wantCode(t, in.append(ctx, held, &heldBefore, "late"), "fenced")
		wantCode(t, in.append(ctx, hosted, &heldLost, "late"), "fenced")
		must(t, in.append(ctx, hosted, nil, "hosted"))
		anew := in.node(t, held)
		if anew.Epoch <= heldBefore.Epoch+1 {
			t.Errorf("the next lease has the epoch %d, and the one before the restore %d", anew.Epoch, heldBefore.Epoch)
		}
		must(t, in.append(ctx, held, &anew, "anew"))
	})
	t.Run("followers are told", func(t *testing.T) {
		_, err := in.records.Export(ctx, in.scope, ledger, record.ExportRequest{After: exportLost.Next})
		wantCode(t, err, "cursor_ahead")
		page, err := in.records.Export(ctx, in.scope, ledger, record.ExportRequest{After: exportBefore.Next})
		if err != nil || len(page.Records) != 2 || page.Records[0].Key != "x" {
			t.Errorf("who went no further gets %+v, %v", page, err)
		}
		_, err = in.directory.Feed(ctx, in.scope, feedLost.Next, 1000)
		wantCode(t, err, "cursor_ahead")
		feed, err := in.directory.Feed(ctx, in.scope, feedBefore.Next, 1000)
		if err != nil || !slices.ContainsFunc(feed.Events, func(e identity.Event) bool {
			return e.Kind == identity.AccountRestored && e.Record == domain.RecordID(c.ID)
		}) {
			t.Errorf("who went no further gets %+v, %v", feed.Events, err)
		}
	})
	if found := in.checks(t); len(found) > 0 {
		t.Errorf("behind all of that the checks find %q", found)
	}
}
