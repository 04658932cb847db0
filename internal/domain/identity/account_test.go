package identity

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func gateOf(state string) tenancy.GateState {
	return tenancy.GateState{State: state, Layout: domain.Layout, IdentityState: "open"}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	email := "ada@example.com"
	req := CreateAccount{Handle: "Ada", Email: &email, EmailVerified: true, Attributes: json.RawMessage(`{"n": 1}`), IdempotencyKey: "order-1"}
	first, err := d.Create(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Create(t.Context(), d.scope, req)
	if err != nil || !again.Replayed || again.Account.ID != first.Account.ID {
		t.Fatalf("the retry got %+v, %v", again, err)
	}
	ignoreKeys := cmp.AllowUnexported(Handle{}, Email{})
	if diff := cmp.Diff(again.Account, first.Account, ignoreKeys, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("the answers differ: %s", diff)
	}
	other := req
	other.Handle = "somebody-else"
	_, err = d.Create(t.Context(), d.scope, other)
	expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")

	elsewhere := d.scope
	elsewhere.Principal = domain.NewID[domain.PrincipalKind](time.Now())
	_, err = d.Create(t.Context(), elsewhere, other) // another caller's key is another key
	expectCode(t, err, domain.KindConflict, "email_taken")

	if err := d.Delete(t.Context(), d.scope, first.Account.ID, 1); err != nil {
		t.Fatal(err)
	}
	_, err = d.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindGone, "account_deleted")
	_, err = d.Create(t.Context(), d.scope, other)
	expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	d.checkInvariants(t, true)
}

// No attributes are no attributes, however a request says so: the account is the
// same, so it is the same request.
func TestIdempotencyKey_EmptyAttributesAreAsGoodAsNone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ways := []json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(" {\n} ")}
	for i, first := range ways {
		req := CreateAccount{Handle: numbered("ada-%d", i), Attributes: first, IdempotencyKey: numbered("order-%d", i)}
		made, err := d.Create(t.Context(), d.scope, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, again := range ways {
			req.Attributes = again
			got, err := d.Create(t.Context(), d.scope, req)
			if err != nil || !got.Replayed || got.Account.ID != made.Account.ID {
				t.Errorf("%q after %q: %+v, %v", again, first, got, err)
			}
		}
		req.Attributes = json.RawMessage(`{"n":{}}`)
		_, err = d.Create(t.Context(), d.scope, req)
		expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	}
}

func TestIdempotencyKey_InFlightIsAConflict_AndAfterTheDeadlineAFreshStart(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	dying := d.with(Options{Faults: &crashAt{point: "claimed", nth: 1}})
	req := CreateAccount{Handle: "ada", IdempotencyKey: "k"}
	if _, err := dying.Create(t.Context(), d.scope, req); !stopped(err) {
		t.Fatal(err)
	}
	_, err := d.Create(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindConflict, "request_in_flight")
	other := CreateAccount{Handle: "other", IdempotencyKey: "k"}
	_, err = d.Create(t.Context(), d.scope, other)
	expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	d.expire(t)
	created, err := d.Create(t.Context(), d.scope, req)
	if err != nil || created.Replayed {
		t.Errorf("after the deadline: %+v, %v", created, err)
	}
	d.checkInvariants(t, true)
}

func TestIdempotencyKey_ManyAtOnce_MakeOneAccount(t *testing.T) {
	t.Parallel()
	retryRace(t, newDirectory(t, Options{}))
}

func retryRace(t *testing.T, d *directory) {
	var all sync.WaitGroup
	var mu sync.Mutex
	made := map[domain.AccountID]int{}
	for range 20 {
		all.Go(func() {
			created, err := d.Create(t.Context(), d.scope, CreateAccount{Handle: "ada", IdempotencyKey: "k"})
			if err != nil {
				if domain.CodeOf(err) != "request_in_flight" {
					t.Errorf("got %v", err)
				}
				return
			}
			mu.Lock()
			made[created.Account.ID]++
			mu.Unlock()
		})
	}
	all.Wait()
	if len(made) != 1 {
		t.Errorf("made %d accounts", len(made))
	}
	d.checkInvariants(t, true)
}

func TestPatch(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "ada@example.com")
	name, disabled := "Ada Lovelace", Disabled
	pointer := &name
	changed, err := d.Patch(t.Context(), d.scope, a.ID, 1, AccountPatch{DisplayName: &pointer, Status: &disabled,
		Attributes: json.RawMessage(`{"big": 12345678901234567890, "nested": {"a": 1, "b": 2}}`)})
	if err != nil || changed.Revision != 2 {
		t.Fatalf("got %+v, %v", changed, err)
	}
	_, err = d.Patch(t.Context(), d.scope, a.ID, 1, AccountPatch{Status: &disabled})
	expectCode(t, err, domain.KindPreconditionFailed, "revision_stale")
	var none *string
	changed, err = d.Patch(t.Context(), d.scope, a.ID, 2, AccountPatch{DisplayName: &none, Attributes: json.RawMessage(`{"nested": {"a": null}}`)})
	if err != nil || changed.DisplayName != nil {
		t.Fatalf("got %+v, %v", changed, err)
	}
	if got := string(changed.Attributes); got != `{"big":12345678901234567890,"nested":{"b":2}}` {
		t.Errorf("attributes are %s", got)
	}
	read, err := d.Get(t.Context(), d.scope, a.ID)
	if err != nil || read.Revision != 3 || string(read.Attributes) != string(changed.Attributes) {
		t.Errorf("read %+v, %v", read, err)
	}
	big := json.RawMessage(fmt.Sprintf(`{"a": "%0*d"}`, maxAttributes, 0))
	_, err = d.Patch(t.Context(), d.scope, a.ID, 3, AccountPatch{Attributes: big})
	expectCode(t, err, domain.KindInvalid, "attributes_too_large")
	_, err = d.Patch(t.Context(), d.scope, domain.NewID[domain.AccountKind](time.Now()), 1, AccountPatch{})
	expectCode(t, err, domain.KindNotFound, "account_not_found")
	d.checkInvariants(t, true)
}

func TestStalePatches_OneOfManyWins(t *testing.T) {
	t.Parallel()
	patchRace(t, newDirectory(t, Options{}))
}

func patchRace(t *testing.T, d *directory) {
	a := d.create(t, "ada", "")
	var won, stale int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			disabled := Disabled
			_, err := d.Patch(t.Context(), d.scope, a.ID, 1, AccountPatch{Status: &disabled})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case domain.KindOf(err) == domain.KindPreconditionFailed:
				stale++
			default:
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if won != 1 || stale != 15 {
		t.Errorf("%d won, %d were stale", won, stale)
	}
}

func TestDelete_FreesTheEmailAndHoldsTheHandle(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{Quarantine: time.Hour})
	a := d.create(t, "ada", "ada@example.com")
	err := d.Delete(t.Context(), d.scope, a.ID, 7)
	expectCode(t, err, domain.KindPreconditionFailed, "revision_stale")
	for range 2 { // idempotent
		if err := d.Delete(t.Context(), d.scope, a.ID, 1); err != nil {
			t.Fatal(err)
		}
	}
	d.expectState(t, state{
		Accounts: []string{"ada - deleted rev 2"},
		Claims:   []string{"handle ada of ada"},
		Events:   []string{"ada 1 account.created by principal [handle email]", "ada 2 account.deleted by principal [handle email]"},
	})
	_, err = d.Get(t.Context(), d.scope, a.ID)
	expectCode(t, err, domain.KindNotFound, "account_not_found")
	_, err = d.LookupHandle(t.Context(), d.scope, "ada")
	expectCode(t, err, domain.KindNotFound, "account_not_found")

	d.create(t, "heir", "ada@example.com")
	_, err = d.tryCreate(t.Context(), "Ada", "")
	expectCode(t, err, domain.KindConflict, "handle_taken")
	d.everywhere(t, `UPDATE accounts SET quarantined_until = quarantined_until - interval '2 hours' WHERE status = 'deleted'`)
	d.create(t, "Ada", "")
	if found, err := d.LookupHandle(t.Context(), d.scope, "ada"); err != nil || found.ID == a.ID {
		t.Errorf("the handle leads to %v, %v", found.ID, err)
	}
}

func TestList_EveryAccountThatStayedExactlyOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	stay := map[domain.AccountID]int{}
	var leave []Account
	for i := range 60 {
		a := d.create(t, numbered("stays-%d", i), "")
		stay[a.ID] = 0
		if i%3 == 0 {
			leave = append(leave, d.create(t, numbered("leaves-%d", i), ""))
		}
	}
	var after *Position
	for i := 0; ; i++ {
		page, err := d.List(t.Context(), d.scope, AccountFilter{}, after, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Accounts) > 7 {
			t.Fatalf("a page of %d", len(page.Accounts))
		}
		for _, a := range page.Accounts {
			if _, known := stay[a.ID]; known {
				stay[a.ID]++
			}
		}
		if page.Next == nil {
			break
		}
		if len(page.Accounts) < 7 {
			t.Errorf("a page of %d that is not the last", len(page.Accounts))
		}
		after = page.Next
		d.create(t, numbered("comes-%d", i), "")
		if i < len(leave) {
			if err := d.Delete(t.Context(), d.scope, leave[i].ID, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for id, times := range stay {
		if times != 1 {
			t.Errorf("%s was seen %d times", id, times)
		}
	}
}

func TestList_ByStatus(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	d.create(t, "bob", "")
	disabled := Disabled
	if _, err := d.Patch(t.Context(), d.scope, a.ID, 1, AccountPatch{Status: &disabled}); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[Status]string{Disabled: "ada", Active: "bob"} {
		page, err := d.List(t.Context(), d.scope, AccountFilter{Status: &status}, nil, 10)
		if err != nil || len(page.Accounts) != 1 || page.Accounts[0].Handle.Key() != want {
			t.Errorf("%s: got %+v, %v", status, page, err)
		}
	}
}

func TestBatchGet_AnswersInTheOrderAsked(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, b := d.create(t, "ada", ""), d.create(t, "bob", "")
	nobody := domain.NewID[domain.AccountKind](time.Now())
	results, err := d.BatchGet(t.Context(), d.scope, []domain.AccountID{b.ID, nobody, a.ID, b.ID})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		if r.Account == nil {
			got = append(got, "-")
			continue
		}
		got = append(got, r.Account.Handle.Key())
	}
	if diff := cmp.Diff([]string{"bob", "-", "ada", "bob"}, got); diff != "" {
		t.Error(diff)
	}
	_, err = d.BatchGet(t.Context(), d.scope, make([]domain.AccountID, MaxBatch+1))
	expectCode(t, err, domain.KindInvalid, "batch_too_large")
}
