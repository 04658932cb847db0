package identity

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

var together = databases{account: "data1", handle: "data2", email: "data2"}

func TestAnswerOfTheCommitLost_TheKeyFindsTheAccount(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	req := d.requestOn("ada", together)
	r.network.CutAfter(t, createCommit)
	_, err := r.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	d.expectState(t, stateOf(req))

	retried, err := r.Create(t.Context(), d.scope, req)
	if err != nil || !retried.Replayed || retried.Account.Revision != 1 {
		t.Errorf("the retry got %+v, %v, want the account that was made", retried, err)
	}
	d.expectState(t, stateOf(req))
	d.checkInvariants(t, true)
}

func TestAnswerOfTheCommitLost_WithoutAKeyALookupFindsTheAccount(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	req := d.requestOn("ada", together)
	req.IdempotencyKey = ""
	r.network.CutAfter(t, createCommit)
	_, err := r.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")

	byHandle, err := r.LookupHandle(t.Context(), d.scope, req.Handle)
	if err != nil || byHandle.Email.Key() != *req.Email {
		t.Errorf("the handle leads to %+v, %v", byHandle, err)
	}
	byEmail, err := r.LookupEmail(t.Context(), d.scope, *req.Email)
	if err != nil || byEmail.ID != byHandle.ID {
		t.Errorf("the address leads to %v, %v, want %v", byEmail.ID, err, byHandle.ID)
	}
	_, err = r.Create(t.Context(), d.scope, req) // is another request
	expectCode(t, err, domain.KindConflict, "handle_taken")
	d.expectState(t, stateOf(req))
	d.checkInvariants(t, true)
}

func TestCommitLost_NothingIsThereAndTheKeyMakesIt(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{Deadline: time.Minute}) // time enough for the retry to meet it
	req := d.requestOn("ada", together)
	r.network.CutBefore(t, createCommit)
	_, err := r.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	d.expectState(t, state{
		Claims:     []string{"email " + *req.Email + " of nobody", "handle " + req.Handle + " of nobody"},
		Operations: []string{"prepared"},
	})
	_, err = r.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindConflict, "request_in_flight")

	d.expire(t)
	d.sweepAll(t)
	d.expectState(t, state{})
	created, err := r.Create(t.Context(), d.scope, req)
	if err != nil || created.Replayed {
		t.Errorf("the retry got %+v, %v, want a new account", created, err)
	}
	d.expectState(t, stateOf(req))
	d.checkInvariants(t, true)
}

// A connection lost at a step before the commit changes nothing that anybody may
// see, whether the step itself happened or not.
func TestConnectionLostBeforeTheCommitPoint_IsUnavailable_AndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	steps := map[string]testkit.Moment{
		"in the prepare": testkit.Statement("INSERT INTO operations"), "at the prepare's commit": prepareCommit,
		"in the claim": testkit.Statement("INSERT INTO claims"), "at the claim's commit": claimCommit,
		"in the commit's lock": testkit.Statement("FOR UPDATE) o"), // the rest of it goes out with the commit itself
	}
	var all []lost
	for name, moment := range steps {
		all = append(all,
			d.loseConnection(t, name, moment, (*testkit.Proxied).CutBefore),
			d.loseConnection(t, name+", its answer", moment, (*testkit.Proxied).CutAfter))
	}
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
	for _, l := range all {
		l.expectState(t, state{})
		if created, err := l.Create(t.Context(), l.scope, l.req); err != nil || created.Replayed {
			t.Errorf("%s: the retry got %+v, %v, want a new account", l.where, created, err)
		}
	}
	d.checkInvariants(t, true)
}

// lost is a creation, of a tenant of its own, whose connection was lost.
type lost struct {
	*directory
	where string
	req   CreateAccount
}

func (d *directory) loseConnection(t *testing.T, where string, at testkit.Moment,
	cut func(*testkit.Proxied, testing.TB, testkit.Moment) *testkit.Trap) lost {
	t.Helper()
	own := d.with(Options{})
	own.scope = d.newTenant(t, "ascii")
	r := own.remote(t, Options{})
	req := own.requestOn("ada", together)
	cut(r.network, t, at)
	_, err := r.Create(t.Context(), own.scope, req)
	if domain.KindOf(err) != domain.KindUnavailable || domain.CodeOf(err) != "database_unavailable" {
		t.Errorf("%s: got %v, want unavailable", where, err)
	}
	r.die()
	return lost{own, where, req}
}
