package identity

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// pauseAt lets a test act while a process stands at a point.
type pauseAt struct {
	point string
	act   func()
}

func (p *pauseAt) Reach(_ context.Context, point string) error {
	if point == p.point && p.act != nil {
		act := p.act
		p.act = nil
		act()
	}
	return nil
}

func TestLateClaim_OfAnAbortedOperation_IsNeverShownAndRemovedByWhoMeetsIt(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.plantOrphan(t, "late@example.com")

	_, err := d.LookupEmail(t.Context(), d.scope, "late@example.com")
	expectCode(t, err, domain.KindNotFound, "account_not_found")
	d.create(t, "next", "late@example.com") // meets it
	d.checkInvariants(t, true)

	d.plantOrphan(t, "later@example.com")
	if n := d.sweepAll(t); n != 1 {
		t.Errorf("the sweep recovered %d, want the one orphan", n)
	}
	d.checkInvariants(t, true)
}

// plantOrphan makes the claim of an operation arrive after that operation was
// aborted and cleared.
func (d *directory) plantOrphan(t *testing.T, email string) {
	t.Helper()
	owner := accountRef(domain.DeriveID[domain.AccountKind]([]byte("orphan"), email))
	c := claim{link: linkTo(domain.FamilyEmail, email, domain.RandomID[domain.TokenKind]()), owner: owner}
	late := &claiming{owner: owner, link: c.link}
	if err := d.claimAll(t.Context(), d.router.Database(c.Number), d.scope.Tenant, []*claiming{late}); err != nil || !late.granted {
		t.Fatalf("plant: granted %v, %v", late.granted, err)
	}
}

func TestCommit_AfterAnAbort_DoesNotPass(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	slow := d.with(Options{Faults: &pauseAt{point: "claimed", act: func() {
		d.expire(t)
		d.create(t, "rival", "contested@example.com")
	}}})
	_, err := slow.tryCreate(t.Context(), "slow", "contested@example.com")
	expectCode(t, err, domain.KindUnavailable, "operation_expired")
	d.expectState(t, state{
		Accounts: []string{"rival contested@example.com active rev 1"},
		Claims:   []string{"email contested@example.com of rival", "handle rival of rival"},
		Events:   []string{"rival 1 account.created by principal [handle email]"},
	})
}

func TestCommit_AfterTheDeadline_DoesNotPassThoughNobodyAborted(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	slow := d.with(Options{Faults: &pauseAt{point: "claimed", act: func() { d.expire(t) }}})
	_, err := slow.tryCreate(t.Context(), "slow", "slow@example.com")
	expectCode(t, err, domain.KindUnavailable, "operation_expired")
	d.expectState(t, state{})
}

func TestClaimsOfAClearedOperation_AreCalledOffByTheirOwnCaller(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	slow := d.with(Options{Faults: &pauseAt{point: "prepared", act: func() {
		d.expire(t)
		d.sweepAll(t)
	}}})
	_, err := slow.tryCreate(t.Context(), "slow", "slow@example.com")
	expectCode(t, err, domain.KindUnavailable, "operation_expired")
	d.expectState(t, state{})
}

func TestCommitSucceeded_IsReportedThoughTheWorldWentOn(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.create(t, "before", "")
	going := d.with(Options{Faults: &pauseAt{point: "committed", act: func() {
		d.sweepAll(t)
		a, err := d.LookupHandle(t.Context(), d.scope, "ada")
		if err != nil {
			t.Errorf("look up: %v", err)
		}
		disabled := Disabled
		if _, err := d.Patch(t.Context(), d.scope, a.ID, a.Revision, AccountPatch{Status: &disabled}); err != nil {
			t.Errorf("patch: %v", err)
		}
	}}})
	created, err := going.tryCreate(t.Context(), "ada", "ada@example.com")
	if err != nil || created.Account.Revision != 1 || created.Account.Status != Active {
		t.Errorf("got %+v, %v, want the caller's own success", created.Account, err)
	}
	now, err := d.Get(t.Context(), d.scope, created.Account.ID)
	if err != nil || now.Revision != 2 || now.Status != Disabled {
		t.Errorf("the account is %+v, %v", now, err)
	}
}

func TestDeletion_StandsThoughAHelperReleasedFirst(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "ada@example.com")
	going := d.with(Options{Faults: &pauseAt{point: "deleted", act: func() {
		d.sweepAll(t)
		d.create(t, "heir", "ada@example.com")
	}}})
	if err := going.Delete(t.Context(), d.scope, a.ID, a.Revision); err != nil {
		t.Fatal(err)
	}
	// The deletion's own release came late, and left the heir's claim alone.
	if found, err := d.LookupEmail(t.Context(), d.scope, "ada@example.com"); err != nil || found.Handle.Key() != "heir" {
		t.Errorf("the address leads to %v, %v", found.Handle, err)
	}
	d.checkInvariants(t, true)
}

func TestLookup_FinishesWhatADeathLeft(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "ada@example.com")
	dying := d.with(Options{Faults: &crashAt{point: "deleted", nth: 1}})
	if err := dying.Delete(t.Context(), d.scope, a.ID, a.Revision); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	_, err := d.LookupEmail(t.Context(), d.scope, "ada@example.com")
	expectCode(t, err, domain.KindNotFound, "account_not_found")
	d.expectState(t, state{
		Accounts: []string{"ada - deleted rev 2"},
		Claims:   []string{"handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle email]", "ada 2 account.deleted by principal [handle email]"},
	})
}

func TestSuspendedTenant_WaitsForItsRecovery(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	dying := d.with(Options{Faults: &crashAt{point: "claimed", nth: 1}})
	if _, err := dying.tryCreate(t.Context(), "ghost", ""); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	d.expire(t)
	open := gateOf("open")
	d.setGate(t, d.scope.Tenant, gateOf("suspended"))
	if n := d.sweepAll(t); n != 0 {
		t.Errorf("recovered %d of a suspended tenant", n)
	}
	d.setGate(t, d.scope.Tenant, open)
	if n := d.sweepAll(t); n != 1 {
		t.Errorf("recovered %d, want 1", n)
	}
	d.expectState(t, state{})
}
