package identity

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var (
	elsewhere = databases{account: "data1", handle: "data3", email: "data1"}
	// Each needs the second database for another part.
	needingData2 = []databases{
		{account: "data2", handle: "data1", email: "data3"},
		{account: "data1", handle: "data2", email: "data3"},
		{account: "data1", handle: "data3", email: "data2"},
		{account: "data1", handle: "data2", email: "data2"},
	}
)

func TestADatabaseDown_OnlyWhatLiesThereIsUnavailable(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	old, there := d.requestOn("old", elsewhere), d.requestOn("there", needingData2[0])
	a, err := r.Create(t.Context(), d.scope, old)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Create(t.Context(), d.scope, there)
	if err != nil {
		t.Fatal(err)
	}

	r.down("data2")
	fresh := d.requestOn("fresh", elsewhere)
	if _, err := r.Create(t.Context(), d.scope, fresh); err != nil {
		t.Errorf("an account that needs nothing of the database that is down: %v", err)
	}
	r.expectServed(t, a.Account, old)
	r.expectUnavailable(t, b.Account, there)
	for i, on := range needingData2 {
		_, err := r.Create(t.Context(), d.scope, d.requestOn(numbered("needs-%d", i), on))
		expectCode(t, err, domain.KindUnavailable, "database_unavailable")
	}

	r.network.Proxy("data2").Accept()
	back := d.requestOn("back", needingData2[1])
	if _, err := r.Create(t.Context(), d.scope, back); err != nil {
		t.Errorf("once the database is back: %v", err)
	}
	r.die()
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
	d.expectState(t, stateOf(old, there, fresh, back))
}

// expectServed drives everything that an account of databases that are up has.
func (r remote) expectServed(t *testing.T, a Account, req CreateAccount) {
	t.Helper()
	disabled := Disabled
	_, err := r.Patch(t.Context(), r.scope, a.ID, a.Revision+1, AccountPatch{Status: &disabled})
	expectCode(t, err, domain.KindPreconditionFailed, "revision_stale") // so it was looked at
	ids := map[string]domain.AccountID{}
	read := func(how string, a Account, err error) {
		if err != nil {
			t.Errorf("%s: %v", how, err)
		}
		ids[how] = a.ID
	}
	got, err := r.Get(t.Context(), r.scope, a.ID)
	read("get", got, err)
	got, err = r.LookupHandle(t.Context(), r.scope, req.Handle)
	read("by handle", got, err)
	got, err = r.LookupEmail(t.Context(), r.scope, *req.Email)
	read("by email", got, err)
	if diff := cmp.Diff(map[string]domain.AccountID{"get": a.ID, "by handle": a.ID, "by email": a.ID}, ids); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// expectUnavailable drives what can't be answered while the account's own
// database is down.
func (r remote) expectUnavailable(t *testing.T, a Account, req CreateAccount) {
	t.Helper()
	ctx, disabled := t.Context(), Disabled
	calls := map[string]func() error{
		"get":       func() error { _, err := r.Get(ctx, r.scope, a.ID); return err },
		"batch get": func() error { _, err := r.BatchGet(ctx, r.scope, []domain.AccountID{a.ID}); return err },
		"by handle": func() error { _, err := r.LookupHandle(ctx, r.scope, req.Handle); return err },
		"by email":  func() error { _, err := r.LookupEmail(ctx, r.scope, *req.Email); return err },
		"list":      func() error { _, err := r.List(ctx, r.scope, AccountFilter{}, nil, MaxPage); return err },
		"recovery":  func() error { _, err := r.Recovery(ctx, r.scope); return err },
		"retry":     func() error { _, err := r.Create(ctx, r.scope, req); return err },
		"delete":    func() error { return r.Delete(ctx, r.scope, a.ID, a.Revision) },
		"patch": func() error {
			_, err := r.Patch(ctx, r.scope, a.ID, a.Revision, AccountPatch{Status: &disabled})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); domain.KindOf(err) != domain.KindUnavailable {
			t.Errorf("%s: %v, want unavailable", name, err)
		}
	}
}

// A database that falls silent costs a creation its transaction's bound and no
// more. The network is well again for the withdrawal, which is then complete.
func TestADatabaseThatFallsSilent_DoesNotHangACreation(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	heal := &pauseAt{point: "aborted"}
	r := d.remote(t, Options{Faults: heal})
	old := d.requestOn("old", together)
	if _, err := r.Create(t.Context(), d.scope, old); err != nil { // over connections that then stand
		t.Fatal(err)
	}
	silent := r.network.Proxy("data2")
	heal.act = func() {
		silent.CutAll() // what was held is lost, and can't arrive late
		silent.Resume()
	}
	silent.Hold(t)
	_, err := r.Create(t.Context(), d.scope, d.requestOn("ada", together))
	expectCode(t, err, domain.KindUnavailable, "database_unavailable")
	d.expectState(t, stateOf(old))
}

// The sharer goes on with a decision that nobody waits for any more, so the
// answer must not be looked at then; the race detector sees it.
func TestReadersThatGoAway_AreToldSo(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	req := d.requestOn("ada", databases{"data1", "data1", "data1"})
	created, err := d.Create(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	r.network.Proxy("data1").Hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	readers := map[string]func() error{
		"get":       func() error { _, err := r.Get(ctx, d.scope, created.Account.ID); return err },
		"batch get": func() error { _, err := r.BatchGet(ctx, d.scope, []domain.AccountID{created.Account.ID}); return err },
		"by handle": func() error { _, err := r.LookupHandle(ctx, d.scope, req.Handle); return err },
		"by email":  func() error { _, err := r.LookupEmail(ctx, d.scope, *req.Email); return err },
	}
	for name, read := range readers {
		if err := read(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want the caller's own cancellation", name, err)
		}
	}
	r.network.Proxy("data1").Resume()
	if _, err := r.Get(t.Context(), d.scope, created.Account.ID); err != nil { // behind those that were left
		t.Error(err)
	}
	if _, err := r.LookupHandle(t.Context(), d.scope, req.Handle); err != nil {
		t.Error(err)
	}
}
