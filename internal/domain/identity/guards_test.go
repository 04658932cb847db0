package identity

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestLateRelease_LeavesTheSameOwnersLaterClaim(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	req := CreateAccount{Handle: "ada", IdempotencyKey: "k"}
	dying := d.with(Options{Faults: &crashAt{point: "claimed", nth: 1}})
	if _, err := dying.Create(t.Context(), d.scope, req); !stopped(err) {
		t.Fatal(err)
	}
	old := d.claimRows(t)[0].claim
	d.expire(t)
	if _, err := d.Create(t.Context(), d.scope, req); err != nil {
		t.Fatal(err)
	}
	if err := d.release(t.Context(), d.scope.Tenant, old.owner, []link{old.link}); err != nil {
		t.Fatal(err)
	}
	d.checkInvariants(t, true)
}

func TestLookup_OfAClaimThatItsLiveOwnerDoesNotHold_FindsNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	l := linkTo(domain.FamilyEmail, "stray@example.com", domain.RandomID[domain.TokenKind]())
	stray := []*claiming{{owner: accountRef(a.ID), link: l}}
	if err := d.claimAll(t.Context(), d.router.Database(l.Number), d.scope.Tenant, stray); err != nil {
		t.Fatal(err)
	}
	_, err := d.LookupEmail(t.Context(), d.scope, "stray@example.com")
	expectCode(t, err, domain.KindNotFound, "account_not_found")
}

func TestDelete_ErasesThePendingEmailChange(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	email := "p@example.com"
	c, err := d.Create(t.Context(), d.scope, CreateAccount{Handle: "ada", Email: &email})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), d.scope, c.Account.ID, 1); err != nil {
		t.Fatal(err)
	}
	left := collect(t, d, `SELECT change_id FROM email_changes`, pgx.RowTo[domain.EmailChangeID])
	if len(left) != 0 {
		t.Errorf("%d pending changes are left", len(left))
	}
}

func TestCommit_OfAnOperationThatStandsAborted_DoesNotPass(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	slow := d.with(Options{Faults: &pauseAt{point: "claimed", act: func() {
		d.everywhere(t, `UPDATE operations SET state = 'aborted'`)
	}}})
	_, err := slow.tryCreate(t.Context(), "slow", "slow@example.com")
	expectCode(t, err, domain.KindUnavailable, "operation_expired")
	d.expectState(t, state{})
}

// A commit that would not write what was decided is stopped as a whole: here the
// record is there already, under another token, and its operation was prepared by
// a request that had no reason to look.
func TestCommit_OfARecordThatExists_ChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	row := &accountRow{Account: Account{ID: a.ID, Status: Active, Handle: a.Handle, Attributes: a.Attributes}}
	op, err := creationOf(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	db := d.router.Database(op.record.Number)
	p := &preparing{op: op}
	if err := d.prepareAll(t.Context(), db, d.scope.Tenant, []*preparing{p}); err != nil || !p.granted {
		t.Fatalf("prepare: granted %v, %v", p.granted, err)
	}
	before := d.state(t)
	c := &creating{op: op, account: row}
	err = d.createAll(t.Context(), db, d.scope.Tenant, []*creating{c})
	if domain.KindOf(err) != domain.KindInternal || err == nil || c.committed {
		t.Errorf("committed %v, %v, want it stopped", c.committed, err)
	}
	d.expectState(t, before) // the operation too still stands
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
}

// A step that comes at the wrong time, or from another operation, finds nothing
// to do.
func TestAbortAndFinalize_TouchOnlyTheirOwnOperationInItsState(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	preparing := d.with(Options{Faults: &crashAt{point: "prepared", nth: 1}})
	if _, err := preparing.tryCreate(t.Context(), "ada", ""); !stopped(err) {
		t.Fatal(err)
	}
	b := d.create(t, "bob", "bob@example.com")
	deleting := d.with(Options{Faults: &crashAt{point: "deleted", nth: 1}})
	if err := deleting.Delete(t.Context(), d.scope, b.ID, 1); !stopped(err) {
		t.Fatal(err)
	}
	before := d.state(t)
	for _, stored := range d.operationRows(t) {
		db := d.router.Database(stored.op.record.Number)
		own, others := stored.op, stored.op
		others.token = domain.RandomID[domain.TokenKind]()

		foreign := &aborting{op: &others}
		if err := d.abortAll(t.Context(), db, d.scope.Tenant, []*aborting{foreign}); err != nil || foreign.state != "" {
			t.Errorf("an abort under another token met %q, %v", foreign.state, err)
		}
		if err := d.finalizeAll(t.Context(), db, d.scope.Tenant, []*finalizing{{&others}}); err != nil {
			t.Error(err)
		}
		var err error
		if own.state == committed {
			late := &aborting{op: &own}
			err = d.abortAll(t.Context(), db, d.scope.Tenant, []*aborting{late})
			if late.state != committed {
				t.Errorf("a late abort of a committed operation made it %q", late.state)
			}
		} else {
			err = d.finalizeAll(t.Context(), db, d.scope.Tenant, []*finalizing{{&own}})
		}
		if err != nil {
			t.Error(err)
		}
	}
	d.expectState(t, before)
}
