package identity

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func request(key, handle, email string) CreateAccount {
	return CreateAccount{Handle: handle, Email: &email, EmailVerified: true, IdempotencyKey: key}
}

func TestCreationOnOneDatabase_IsOneTransactionAndLeavesWhatTheStepsLeave(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	other := newDirectoryOn(t, 1, Options{Stepwise: true})
	traced, recorder := d.traced(t)
	traced.stepwise = false

	req := request("", "ada", "ada@example.com")
	made := recorder.during(func() {
		if _, err := traced.Create(t.Context(), d.scope, req); err != nil {
			t.Error(err)
		}
	})
	if len(made) != 1 || made[0].unsynced {
		t.Errorf("a creation made %+v, want one transaction that waits for the disk", made)
	}
	if _, err := other.Create(t.Context(), other.scope, req); err != nil {
		t.Fatal(err)
	}
	d.expectState(t, stateOf(req))
	other.expectState(t, d.state(t))
	d.checkInvariants(t, true)
}

func TestCreationAtOnce_InTheWayOfAnother_LeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	ada := request("", "ada", "ada@example.com")
	if _, err := d.Create(t.Context(), d.scope, ada); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "a key"} {
		_, err := d.Create(t.Context(), d.scope, request(key, "ada", "lovelace@example.com"))
		expectCode(t, err, domain.KindConflict, "handle_taken")
		_, err = d.Create(t.Context(), d.scope, request(key, "lovelace", "ada@example.com"))
		expectCode(t, err, domain.KindConflict, "email_taken")
	}
	d.expectState(t, stateOf(ada))
	d.checkInvariants(t, true)

	lovelace := request("a key", "lovelace", "lovelace@example.com") // what they wanted is free
	if _, err := d.Create(t.Context(), d.scope, lovelace); err != nil {
		t.Error(err)
	}
	d.expectState(t, stateOf(ada, lovelace))
}

func TestCreationAtOnce_Repeated_FindsTheFirst(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	ada := request("a key", "ada", "ada@example.com")
	first, err := d.Create(t.Context(), d.scope, ada)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Create(t.Context(), d.scope, ada)
	if err != nil || !again.Replayed || again.Account.ID != first.Account.ID {
		t.Errorf("the repeated request got %+v, %v", again, err)
	}
	_, err = d.Create(t.Context(), d.scope, request("a key", "lovelace", "lovelace@example.com"))
	expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	d.expectState(t, stateOf(ada))

	if err := d.Delete(t.Context(), d.scope, first.Account.ID, 1); err != nil {
		t.Fatal(err)
	}
	_, err = d.Create(t.Context(), d.scope, ada)
	expectCode(t, err, domain.KindGone, "account_deleted")
	d.checkInvariants(t, true)
}

func TestCreationAtOnce_BesideThePreparedOneOfItsKey_IsNotMade(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	ada, other := request("a key", "ada", "ada@example.com"), request("a key", "lovelace", "lovelace@example.com")
	slow := d.with(Options{Faults: &pauseAt{point: "prepared", act: func() {
		_, err := d.Create(t.Context(), d.scope, ada)
		expectCode(t, err, domain.KindConflict, "request_in_flight")
		_, err = d.Create(t.Context(), d.scope, other)
		expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	}}})
	if _, err := slow.Create(t.Context(), d.scope, ada); err != nil {
		t.Error(err)
	}
	d.expectState(t, stateOf(ada))
	d.checkInvariants(t, true)
}

// While a creation at once is under way, its key's other requests wait for it,
// whichever way they go and whatever they ask for.
func TestCreationAtOnce_UnderWay_IsWaitedForByItsKey(t *testing.T) {
	t.Parallel()
	for name, stepwise := range map[string]bool{"at once": false, "step by step": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDirectoryOn(t, 1, Options{})
			second := d.with(Options{Stepwise: stepwise})
			db := d.router.Databases()[0]
			ada := request("a key", "ada", "ada@example.com")

			release := d.holdKey(t, linkTo(domain.FamilyHandle, "ada", domain.Token{}))
			created := make(chan error, 1)
			go func() {
				_, err := d.Create(t.Context(), d.scope, ada)
				created <- err
			}()
			d.awaitLock(t, db, created)
			reused := make(chan error, 1)
			go func() {
				_, err := second.Create(t.Context(), d.scope, request("a key", "lovelace", "lovelace@example.com"))
				reused <- err
			}()
			d.awaitLocks(t, db, 2, reused)
			release()
			if err := <-created; err != nil {
				t.Error(err)
			}
			expectCode(t, <-reused, domain.KindInvalid, "idempotency_key_reused")
			d.expectState(t, stateOf(ada))
			d.checkInvariants(t, true)
		})
	}
}

// holdKey has a transaction of somebody's stand in the way of whoever claims the
// key, until it is released.
func (d *directory) holdKey(t testing.TB, l link) (release func()) {
	t.Helper()
	tx, err := d.admin[d.router.Database(l.Number).Name].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback(t.Context()) })
	if _, err := tx.Exec(t.Context(), `
		INSERT INTO claims (tenant_id, number, family, key, owner_family, owner_id, token, rules)
		VALUES ($1, $2, $3, $4, 'account', gen_random_uuid(), gen_random_uuid(), 1)`,
		d.scope.Tenant, int16(l.Number), l.Family, l.Key); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestCreationsAtOnce_OfTheSameNames_AreMadeOnce(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	processes := []*directory{d, d.with(Options{Stepwise: true}), d.with(Options{})}
	var callers sync.WaitGroup
	var mu sync.Mutex
	var made []CreateAccount
	for i := range 240 {
		req := request("", numbered("handle-%d", i%12), numbered("email-%d@example.com", i%20))
		if i%2 == 0 {
			req.IdempotencyKey = numbered("key %d", i)
		}
		callers.Go(func() {
			_, err := processes[i%3].Create(t.Context(), d.scope, req)
			switch {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				made = append(made, req)
			case domain.KindOf(err) != domain.KindConflict && domain.KindOf(err) != domain.KindUnavailable:
				t.Errorf("create %s: %v", req.Handle, err)
			}
		})
	}
	callers.Wait()
	d.expire(t)
	d.sweepAll(t)
	d.expectState(t, stateOf(made...))
	d.checkInvariants(t, true)
	d.expectSound(t)
	if len(made) < 6 {
		t.Errorf("only %d of 12 handles found an owner", len(made))
	}
}

func TestCreationAtOnce_WithAnObsoleteClaimInItsWay_ClearsIt(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	dying := d.with(Options{Faults: &crashAt{point: "claimed", nth: 1}})
	ada := request("", "ada", "ada@example.com")
	if _, err := dying.Create(t.Context(), d.scope, ada); err == nil {
		t.Fatal("it didn't die")
	}
	_, err := d.Create(t.Context(), d.scope, ada)
	expectCode(t, err, domain.KindConflict, "claim_pending")
	d.expire(t)
	if _, err := d.Create(t.Context(), d.scope, ada); err != nil {
		t.Error(err)
	}
	d.expectState(t, stateOf(ada))
	d.checkInvariants(t, true)
}

// A write that does nothing takes everything with it.
func TestCreationAtOnce_WhoseWritesAreSwallowed_IsRolledBack(t *testing.T) {
	t.Parallel()
	for verb, table := range map[string]string{"INSERT": "accounts", "DELETE": "operations"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			d := newDirectoryOn(t, 1, Options{})
			d.swallow(t, verb, table)
			_, err := d.Create(t.Context(), d.scope, request("a key", "ada", "ada@example.com"))
			if err == nil || domain.KindOf(err) != domain.KindInternal {
				t.Errorf("got %v, want it stopped", err)
			}
			d.expectState(t, state{})
		})
	}
}

func TestAnswerOfACreationAtOnceLost_TheKeyFindsTheAccount(t *testing.T) {
	t.Parallel()
	d := newDirectoryOn(t, 1, Options{})
	r := d.remote(t, Options{})
	req := request("a key", "ada", "ada@example.com")
	r.network.CutAfter(t, createCommit)
	_, err := r.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	d.expectState(t, stateOf(req))
	again, err := r.Create(t.Context(), d.scope, req)
	if err != nil || !again.Replayed {
		t.Errorf("the retry got %+v, %v", again, err)
	}

	lost := request("another key", "ben", "ben@example.com")
	r.network.CutBefore(t, createCommit)
	_, err = r.Create(t.Context(), d.scope, lost)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	d.expectState(t, stateOf(req))
	if again, err = r.Create(t.Context(), d.scope, lost); err != nil || again.Replayed {
		t.Errorf("the retry got %+v, %v", again, err)
	}
	d.expectState(t, stateOf(req, lost))
	d.checkInvariants(t, true)
}

// Creations over three databases go whichever way their names lie.
func TestCreationsAtOnceAndStepByStep_AreOneDirectory(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	traced, recorder := d.traced(t)
	traced.stepwise = false
	on := d.router.Databases()[0].Name
	req := d.requestOn("near", databases{on, on, on})
	made := recorder.during(func() {
		if _, err := traced.Create(t.Context(), d.scope, req); err != nil {
			t.Error(err)
		}
	})
	if diff := cmp.Diff(1, len(made)); diff != "" {
		t.Errorf("transactions (-want +got):\n%s", diff)
	}
	far := d.requestOn("far", databases{"data1", "data2", "data3"})
	made = recorder.during(func() {
		if _, err := traced.Create(t.Context(), d.scope, far); err != nil {
			t.Error(err)
		}
	})
	if len(made) != 4 {
		t.Errorf("a creation on three databases made %d transactions, want 4", len(made))
	}
	d.expectState(t, stateOf(req, far))
	d.checkInvariants(t, true)
}

// A repeated creation shows the code of the email change that began with it, and
// none of one that was begun since.
func TestRepeatedCreation_ShowsNoLaterChangesCode(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	email := "ada@example.com"
	req := CreateAccount{Handle: "ada", Email: &email, IdempotencyKey: "a key"}
	first, err := d.Create(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Create(t.Context(), d.scope, req)
	if err != nil || !cmp.Equal(again.EmailChange, first.EmailChange, cmp.AllowUnexported(Email{})) {
		t.Errorf("the repeated creation shows %+v, %v; want %+v", again.EmailChange, err, first.EmailChange)
	}
	if _, err := d.BeginEmailChange(t.Context(), d.scope, first.Account.ID, BeginEmailChange{Email: "eve@example.com"}); err != nil {
		t.Fatal(err)
	}
	again, err = d.Create(t.Context(), d.scope, req)
	if err != nil || !again.Replayed || again.EmailChange != nil {
		t.Errorf("behind another change it shows %+v, %v", again.EmailChange, err)
	}
}
