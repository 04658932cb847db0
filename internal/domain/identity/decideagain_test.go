package identity

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A decision whose transaction was lost, because another decision in it failed, is
// made again: from what is there by then, and with nothing left of the first
// answer.

// decidingTwice is another process. Its first decision about an account is lost
// with its transaction, and made again behind act.
func (d *directory) decidingTwice(t testing.TB, act func()) *directory {
	twice := d.with(Options{})
	lose := func(c *accountChange) *accountChange {
		lost := *c
		lost.decide = func(a *lockedAccount) error {
			err := c.decide(a)
			a.Queue(`SELECT demand($1::uuid IS NULL)`)
			return err
		}
		return &lost
	}
	decide := func(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*accountChange) error {
		if act != nil {
			err := twice.changeAccounts(ctx, db, tenant, []*accountChange{lose(all[0])})
			if err == nil || domain.KindOf(err) != domain.KindInternal {
				t.Errorf("the first transaction was not lost: %v", err)
			}
			then := act
			act = nil
			then()
		}
		return twice.changeAccounts(ctx, db, tenant, all)
	}
	twice.changing = tenancy.NewSharer("identity.account", twice.tracer, decide)
	return twice
}

func TestBeginEmailChange_DecidedAgain_IsNoReplayOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	req := BeginEmailChange{Email: "new@example.com", IdempotencyKey: "k"}
	first, err := d.BeginEmailChange(t.Context(), d.scope, a.ID, req)
	if err != nil {
		t.Fatal(err)
	}
	twice := d.decidingTwice(t, func() {
		if err := d.CancelEmailChange(t.Context(), d.scope, a.ID, first.ID); err != nil {
			t.Error(err)
		}
	})
	second, err := twice.BeginEmailChange(t.Context(), d.scope, a.ID, req)
	if err != nil || second.Replayed || second.Code == first.Code {
		t.Errorf("begun %+v, %v, want it begun anew", second, err)
	}
	if err := d.confirm(t, a.ID, second.EmailChange, second.Code); err != nil {
		t.Error(err)
	}
}

func TestConfirmEmailChange_DecidedAgain_CompletesNothingThatItDidNotPrepare(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	change := d.mustBegin(t, a.ID, "new@example.com")
	twice := d.decidingTwice(t, func() { d.dieConfirming(t, "change prepared", a.ID, change) })
	expectCode(t, twice.confirm(t, a.ID, change, change.Code), domain.KindConflict, "change_pending")
	for _, c := range d.claimRows(t) {
		if c.claim.Key == "new@example.com" {
			t.Error("it has claimed an address for an operation that never stood")
		}
	}
	d.expire(t)
	if err := d.confirm(t, a.ID, change, change.Code); err != nil {
		t.Error(err)
	}
	d.checkInvariants(t, true)
}

// Another change stands in the way at first, and has been done with by the second
// time, with what was asked for: so it is done, and not to be tried again.
func TestRemoveEmailAndDelete_DecidedAgain_AreInNobodysWayAnyMore(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*directory, Account) error{
		"remove": func(d *directory, a Account) error {
			now, err := d.RemoveEmail(t.Context(), d.scope, a.ID, nil)
			if err == nil && now.Revision != 2 {
				t.Errorf("the account is %+v", now)
			}
			return err
		},
		"delete": func(d *directory, a Account) error { return d.Delete(t.Context(), d.scope, a.ID, 1) },
	} {
		d := newDirectory(t, Options{})
		a := d.create(t, "ada", "old@example.com")
		d.dieConfirming(t, "change prepared", a.ID, d.mustBegin(t, a.ID, "new@example.com"))
		twice := d.decidingTwice(t, func() {
			d.expire(t)
			if err := ask(d, a); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if err := ask(twice, a); err != nil {
			t.Errorf("%s, decided again: %v", name, err)
		}
		d.checkInvariants(t, true)
	}
}

// The answers of the steps are written anew: here each comes with one of a first
// time, when something was there that has gone.
func TestSteps_MadeAgain_AnswerAnew(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	tenant, gone := d.scope.Tenant, accountRef(domain.NewID[domain.AccountKind](time.Now()))
	at := func(n domain.Number) *postgres.Database { return d.router.Database(n) }
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	taken := linkTo(domain.FamilyHandle, "ada", domain.RandomID[domain.TokenKind]())
	claimed := &claiming{owner: gone, link: taken, granted: true}
	do(d.claimAll(t.Context(), at(taken.Number), tenant, []*claiming{claimed}))
	if claimed.granted {
		t.Error("a claim of a key that is taken is granted")
	}

	free := linkTo(domain.FamilyHandle, "free", domain.Token{})
	resolved := &resolving{link: free, claim: &claim{link: taken}}
	do(d.resolveAll(t.Context(), at(free.Number), tenant, []*resolving{resolved}))
	if resolved.claim != nil {
		t.Errorf("a key that is free leads to %+v", resolved.claim)
	}

	read := &reading{record: gone, account: &accountRow{}, device: &deviceRow{}, operation: &operation{}}
	do(d.readAll(t.Context(), at(gone.Number), tenant, []*reading{read}))
	if read.exists() || read.operation != nil {
		t.Errorf("of a record that isn't there it reads %+v", read)
	}

	row := &accountRow{Account: Account{ID: domain.AccountID(gone.ID), Status: Active, Handle: a.Handle, Attributes: a.Attributes}}
	op, err := creationOf(t.Context(), row)
	do(err)
	created := &creating{op: op, account: row, committed: true}
	do(d.createAll(t.Context(), at(gone.Number), tenant, []*creating{created}))
	if created.committed {
		t.Error("an account whose operation has gone is committed")
	}

	atOnce := &creating{committed: true}
	for atOnce.account == nil || d.together(atOnce.account) == nil {
		atOnce.account = &accountRow{Account: Account{ID: domain.NewID[domain.AccountKind](time.Now()), Handle: a.Handle, Attributes: a.Attributes}}
		atOnce.op, err = creationOf(t.Context(), atOnce.account)
		do(err)
	}
	do(d.createAtOnce(t.Context(), d.together(atOnce.account), tenant, []*creating{atOnce}))
	if atOnce.committed {
		t.Error("an account whose handle is taken is committed at once")
	}

	n := withCode("tv", UserCode{})
	deviceOp, err := deviceCreationOf(t.Context(), n.device)
	do(err)
	made := &creatingDevice{newDevice: n, op: deviceOp, committed: true, removed: true}
	do(d.createDevices(t.Context(), at(deviceOp.record.Number), tenant, []*creatingDevice{made}))
	if made.committed || made.removed {
		t.Errorf("a device whose operation has gone is committed %v, removed %v", made.committed, made.removed)
	}

	do(d.prepareAll(t.Context(), at(gone.Number), tenant, []*preparing{{op: op}}))
	other, err := creationOf(t.Context(), row)
	do(err)
	prepared := &preparing{op: other, granted: true}
	do(d.prepareAll(t.Context(), at(gone.Number), tenant, []*preparing{prepared}))
	if prepared.granted || prepared.found == nil || prepared.found.operation.token != op.token {
		t.Errorf("beside another operation it is prepared: %+v", prepared)
	}
}
