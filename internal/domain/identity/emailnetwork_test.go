package identity

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// changeCommit is the commit point of an email change.
var changeCommit = testkit.CommitOf("UPDATE accounts")

// emailOn is an address whose key lies on a database.
func (d *directory) emailOn(name, database string) string {
	for i := 0; ; i++ {
		if email := numbered(name+"-%d@example.com", i); d.router.Database(domain.NumberOf(email)).Name == database {
			return email
		}
	}
}

// moving is an account with a pending change of its address.
type moving struct {
	*directory
	account  Account
	old, new string
	change   EmailChange
}

// movingOn makes one, of a tenant of its own, whose parts lie on the databases
// given: the new address beside the old one's unless it is named.
func (d *directory) movingOn(t testing.TB, on databases, target string) moving {
	t.Helper()
	own := d.with(Options{})
	own.scope = d.newTenant(t, "ascii")
	req := own.requestOn("ada", on)
	created, err := own.Create(t.Context(), own.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	m := moving{directory: own, account: created.Account, old: *req.Email, new: own.emailOn("new", target)}
	m.change = own.mustBegin(t, m.account.ID, m.new)
	return m
}

func (m moving) expectUnmoved(t testing.TB) {
	t.Helper()
	handle := m.account.Handle.Key()
	m.expectState(t, state{
		Accounts:     []string{handle + " " + m.old + " active rev 1"},
		EmailChanges: []string{handle + " to " + m.new + ", 0 wrong codes"},
		Claims:       []string{"email " + m.old + " of " + handle, "handle " + handle + " of " + handle},
		Events:       []string{handle + " 1 account.created by principal [handle email]"},
	})
}

func (m moving) expectMoved(t testing.TB) {
	t.Helper()
	handle := m.account.Handle.Key()
	m.expectState(t, state{
		Accounts: []string{handle + " " + m.new + " active rev 2"},
		Claims:   []string{"email " + m.new + " of " + handle, "handle " + handle + " of " + handle},
		Events:   []string{handle + " 1 account.created by principal [handle email]", handle + " 2 account.email_changed by principal [email]"},
	})
}

func TestAnswerOfTheChangesCommitLost_TheAccountTells(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	m := d.movingOn(t, together, "data3")
	r := m.remote(t, Options{})
	r.network.CutAfter(t, changeCommit)
	expectCode(t, r.confirm(t, m.account.ID, m.change, m.change.Code), domain.KindOutcomeUnknown, "outcome_unknown")
	read, err := r.Get(t.Context(), m.scope, m.account.ID)
	if err != nil || read.Email.Key() != m.new || read.Revision != 2 {
		t.Errorf("the account is %+v, %v", read, err)
	}
	expectCode(t, r.confirm(t, m.account.ID, m.change, m.change.Code), domain.KindNotFound, "email_change_not_found")
	m.expectLookups(t, map[string]domain.AccountID{m.new: m.account.ID, m.old: {}})
	m.expectMoved(t)
	d.checkInvariants(t, true)
}

func TestChangesCommitLost_TheChangeIsStillPending(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	m := d.movingOn(t, together, "data3")
	r := m.remote(t, Options{Deadline: time.Minute}) // time enough for the retry to meet it
	r.network.CutBefore(t, changeCommit)
	expectCode(t, r.confirm(t, m.account.ID, m.change, m.change.Code), domain.KindOutcomeUnknown, "outcome_unknown")
	m.expectLookups(t, map[string]domain.AccountID{m.old: m.account.ID, m.new: {}})
	expectCode(t, r.confirm(t, m.account.ID, m.change, m.change.Code), domain.KindConflict, "change_pending")
	d.expire(t)
	if err := r.confirm(t, m.account.ID, m.change, m.change.Code); err != nil {
		t.Error(err)
	}
	m.expectMoved(t)
	d.checkInvariants(t, true)
}

// A connection lost at a step before the commit point leaves the old address in
// force and the change pending, whether the step itself happened or not.
func TestConnectionLostBeforeTheChangesCommit_LeavesItPending(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	steps := map[string]struct {
		moment testkit.Moment
		told   domain.Kind
	}{
		"at the prepare's commit": {prepareCommit, domain.KindOutcomeUnknown},
		"in the claim":            {testkit.Statement("INSERT INTO claims"), domain.KindUnavailable},
		"at the claim's commit":   {claimCommit, domain.KindUnavailable},
		"in the commit's lock":    {testkit.Statement("FOR UPDATE) o"), domain.KindUnavailable},
	}
	cuts := map[string]func(*testkit.Proxied, testing.TB, testkit.Moment) *testkit.Trap{
		"": (*testkit.Proxied).CutBefore, ", its answer": (*testkit.Proxied).CutAfter,
	}
	lost := map[string]moving{}
	for where, step := range steps {
		for how, cut := range cuts {
			m := d.movingOn(t, together, "data2")
			r := m.remote(t, Options{})
			cut(r.network, t, step.moment)
			if err := r.confirm(t, m.account.ID, m.change, m.change.Code); domain.KindOf(err) != step.told {
				t.Errorf("%s%s: got %v, want %v", where, how, err, step.told)
			}
			r.die()
			lost[where+how] = m
		}
	}
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
	for where, m := range lost {
		m.expectUnmoved(t)
		if err := m.confirm(t, m.account.ID, m.change, m.change.Code); err != nil {
			t.Errorf("%s: then %v", where, err)
		}
		m.expectMoved(t)
	}
	d.checkInvariants(t, true)
}

func TestAnswerOfAWrongCodeLost_ItIsCounted(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	m := d.movingOn(t, together, "data2")
	r := m.remote(t, Options{})
	r.network.CutAfter(t, testkit.CommitOf("UPDATE email_changes"))
	expectCode(t, r.confirm(t, m.account.ID, m.change, "wrong"), domain.KindOutcomeUnknown, "outcome_unknown")
	for range maxWrongCodes - 1 {
		expectCode(t, r.confirm(t, m.account.ID, m.change, "wrong"), domain.KindInvalid, "email_code_wrong")
	}
	expectCode(t, r.confirm(t, m.account.ID, m.change, m.change.Code), domain.KindNotFound, "email_change_not_found")
}

func TestAnswerOfABeginningLost_TheKeyGetsItsCode(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "old@example.com")
	r := d.remote(t, Options{})
	r.network.CutAfter(t, testkit.CommitOf("INSERT INTO email_changes"))
	req := BeginEmailChange{Email: "new@example.com", IdempotencyKey: "k"}
	_, err := r.BeginEmailChange(t.Context(), d.scope, a.ID, req)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	begun, err := r.BeginEmailChange(t.Context(), d.scope, a.ID, req)
	if err != nil || !begun.Replayed {
		t.Fatalf("the retry got %+v, %v", begun, err)
	}
	if err := d.confirm(t, a.ID, begun.EmailChange, begun.Code); err != nil {
		t.Error(err)
	}
	d.checkInvariants(t, true)
}

func TestAnswerOfARemovalLost_TheAccountTells(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	m := d.movingOn(t, together, "data3")
	r := m.remote(t, Options{})
	r.network.CutAfter(t, changeCommit)
	_, err := r.RemoveEmail(t.Context(), m.scope, m.account.ID, nil)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	again, err := r.RemoveEmail(t.Context(), m.scope, m.account.ID, nil)
	if err != nil || again.Revision != 2 || !again.Email.IsZero() {
		t.Errorf("the retry got %+v, %v", again, err)
	}
	m.expectLookups(t, map[string]domain.AccountID{m.old: {}})
	d.checkInvariants(t, true)
}

// While the new address's database is down the change waits; while the old one's
// is, the change goes through and its release is left to recovery.
func TestADatabaseDown_AnEmailChangeNeedsTheAccountsAndTheNewAddresses(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	apart := databases{account: "data1", handle: "data1", email: "data3"}
	for down, code := range map[string]string{"data1": "database_unavailable", "data2": "database_unavailable", "data3": ""} {
		m := d.movingOn(t, apart, "data2")
		r := m.remote(t, Options{})
		r.down(down)
		if err := r.confirm(t, m.account.ID, m.change, m.change.Code); domain.CodeOf(err) != code {
			t.Errorf("%s down: got %v, want %q", down, err, code)
		}
		r.die()
		if code == "" {
			m.sweepAll(t)
			m.expectMoved(t)
			continue
		}
		d.expire(t)
		m.sweepAll(t)
		m.expectUnmoved(t)
		if err := m.confirm(t, m.account.ID, m.change, m.change.Code); err != nil {
			t.Errorf("once %s is back: %v", down, err)
		}
		m.expectMoved(t)
	}
	d.checkInvariants(t, true)
}
