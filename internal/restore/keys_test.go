package restore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/restore"
)

// closeAndReconcile takes a database that was put back to where it may be opened.
func (in *installation) closeAndReconcile(t *testing.T, name string, req restore.Request) (restore.Outcome, *told) {
	t.Helper()
	_, err := restore.Close(t.Context(), in.owner.Named(name), time.Now())
	must(t, err)
	return in.reconcile(t, req)
}

func (in *installation) open(t *testing.T, name string) {
	t.Helper()
	_, err := restore.Open(t.Context(), in.owner, in.owner.Named(name), time.Now())
	must(t, err)
}

func (in *installation) expectSound(t *testing.T) {
	t.Helper()
	if found := in.checks(t); len(found) > 0 {
		t.Errorf("the checks find %q", found)
	}
}

// A handle is never changed, but where a restore has given it to two: whoever has to
// give it up gets one that is made from the account's id, and everything else stays.
func TestAHandleOfTwo_IsKeptByWhomAnOperatorNames(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	ctx := t.Context()
	handle, mail := in.on("data3", "both", ""), in.on("data2", "both", "@example.com")
	a := in.account(t, "data2", handle, mail)
	backup := in.backup(t, "data2")

	must(t, in.directory.Delete(ctx, in.scope, a.ID, a.Revision))
	in.endQuarantines(t)
	x := in.account(t, "data1", handle, "")
	in.putBack(t, backup)

	done, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if done.Decisions != 1 || l.decisions[0].Key.Family != domain.FamilyHandle {
		t.Fatalf("it came to %+v, %+v", done, l.decisions)
	}
	if done, _ = in.reconcile(t, restore.Request{Keep: map[domain.RecordID]bool{domain.RecordID(x.ID): true}}); done.Decisions != 0 {
		t.Fatalf("decided it came to %+v", done)
	}
	in.open(t, "data2")
	in.expectSound(t)
	if found, err := in.directory.LookupHandle(ctx, in.scope, handle); err != nil || found.ID != x.ID {
		t.Errorf("the handle leads to %v, %v", found.ID, err)
	}
	renamed := "restored-" + strings.ReplaceAll(a.ID.String(), "-", "")
	if found, err := in.directory.LookupHandle(ctx, in.scope, renamed); err != nil || found.ID != a.ID || found.Email.Key() != mail {
		t.Errorf("the new handle leads to %+v, %v", found, err)
	}
}

func (in *installation) endQuarantines(t *testing.T) {
	t.Helper()
	for _, db := range in.router.Databases() {
		_, err := in.databases.Admin(t, db.Name).Exec(t.Context(), `UPDATE accounts SET quarantined_until = now() - interval '1 minute' WHERE status = 'deleted'`)
		must(t, err)
	}
}

// A tombstone holds its handle so that nobody takes it. Where somebody has, in the
// time that was lost, it gives it up, and nobody is asked.
func TestATombstonesHandle_IsWhoevers(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	handle := in.on("data2", "both", "")
	a := in.account(t, "data2", handle, "")
	must(t, in.directory.Delete(t.Context(), in.scope, a.ID, a.Revision))
	backup := in.backup(t, "data2")
	in.endQuarantines(t)
	x := in.account(t, "data1", handle, "")
	in.putBack(t, backup)

	done, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if done.Decisions != 0 || l.tenants[0].Identity.Resolved != 1 {
		t.Errorf("it came to %+v, %+v", done, l.tenants)
	}
	in.open(t, "data2")
	in.expectSound(t)
	if found, err := in.directory.LookupHandle(t.Context(), in.scope, handle); err != nil || found.ID != x.ID {
		t.Errorf("the handle leads to %v, %v", found.ID, err)
	}
}

// dies stops at a point, as a process that dies there.
type dies string

var errDied = errors.New("the process died")

func (p dies) Reach(_ context.Context, point string) error {
	if point == string(p) {
		return errDied
	}
	return nil
}

// Operations that are half on the restored database are taken back, from either
// half, before their deadline too; and who had gone on meanwhile keeps what it got.
func TestOperationsHalfDone_AreTakenBack(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	dying := *in
	dying.directory = identity.New(in.router, secrets("server"), identity.Options{Faults: dies("claimed"), Deadline: time.Hour})
	prepare := func(home, handle string) {
		t.Helper()
		for i := 0; ; i++ {
			key := handle + "-" + string(rune('a'+i))
			id := domain.DeriveID[domain.AccountKind](in.scope.Settings.IDKey, "account", in.scope.Principal.String(), key)
			if in.router.Database(domain.NumberOf(id.String())).Name != home {
				continue
			}
			if _, err := dying.directory.Create(t.Context(), in.scope, identity.CreateAccount{Handle: handle, IdempotencyKey: key}); !errors.Is(err, errDied) {
				t.Fatalf("it didn't die: %v", err)
			}
			return
		}
	}
	here, there := in.on("data1", "here", ""), in.on("data2", "there", "")
	prepare("data2", here) // its claim is elsewhere
	backup := in.backup(t, "data2")
	prepare("data1", there) // its claim is lost
	in.putBack(t, backup)

	_, l := in.closeAndReconcile(t, "data2", restore.Request{})
	if got := l.tenants[0].Identity; got.Operations != 2 || got.ClaimsRemoved != 0 {
		t.Errorf("it did %+v", got)
	}
	in.open(t, "data2")
	in.expectSound(t)
	for _, handle := range []string{here, there} {
		in.account(t, "data3", handle, "") // nothing holds it
	}
}
