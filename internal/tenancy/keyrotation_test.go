package tenancy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A key is replaced without a pause: both work until the old one is revoked, and who
// calls is the same principal throughout.
func TestAPIKeys_OverlapWhileOneReplacesTheOther(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	second := in.start(t)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.RecordRead)
	old, oldText := in.key(t, tenant.ID, p)
	_, nextText := in.key(t, tenant.ID, p)
	must(t, second.tokens.Poll(t.Context()))

	oldToken, nextToken := in.first.grant(t, oldText), second.grant(t, nextText)
	for _, process := range []process{in.first, second} {
		for _, token := range []string{oldToken, nextToken} {
			if scope := process.authenticate(t, token); scope.Principal != p.ID {
				t.Errorf("who calls is %s, want %s", scope.Principal, p.ID)
			}
		}
	}
	_, err := in.first.store.RevokeKey(t.Context(), in.ada, tenant.ID, old.ID)
	must(t, err)
	for _, process := range []process{in.first, second} {
		must(t, process.tokens.Poll(t.Context()))
		_, err := process.tokens.Authenticate(t.Context(), oldToken)
		wantCode(t, err, domain.KindUnauthenticated, "token_revoked")
		if _, err := process.tokens.Grant(t.Context(), request(oldText)); err == nil {
			t.Error("the old key still buys tokens")
		}
		process.authenticate(t, nextToken)
		process.authenticate(t, process.grant(t, nextText))
	}
}

// A server key is replaced in three steps, of which each process takes each at its own
// time. Nobody is refused meanwhile, and at the end nothing needs the old one.
func TestServerKeys_AreReplacedUnderWay(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	k1, k2 := serverKey("k1"), serverKey("k2")
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.RecordRead)
	want := tenancy.NewKey{Principal: p.ID, IdempotencyKey: "lost"}
	_, text, _, err := in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	must(t, err)

	steps := [][]tenancy.ServerKey{{k1}, {k1, k2}, {k2, k1}}
	for i := 1; i < len(steps); i++ {
		before, after := in.start(t, steps[i-1]...), in.start(t, steps[i]...)
		for _, process := range []process{before, after} {
			must(t, process.tokens.Poll(t.Context()))
		}
		for _, process := range []process{before, after} {
			token := process.grant(t, text)
			before.authenticate(t, token)
			after.authenticate(t, token)
			if _, again, replayed, err := process.store.CreateKey(t.Context(), in.ada, tenant.ID, want); err != nil || !replayed || again != text {
				t.Errorf("step %d: the retry of a lost answer: %v", i, err)
			}
		}
	}
	// The signing keys of before have had their time.
	rotated := in.start(t, k2, k1)
	for range 40 {
		in.clock.advance(day)
		must(t, rotated.tokens.Poll(t.Context()))
	}
	last := in.start(t, k2)
	must(t, last.tokens.Poll(t.Context()))
	if ours, theirs := published(t, last), published(t, rotated); !slices.Equal(ours, theirs) {
		t.Errorf("without the old key %v are published, want %v: it made one anew", ours, theirs)
	}
	last.authenticate(t, last.grant(t, text)) // the key itself needs no server key
	_, _, _, err = last.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	wantCode(t, err, domain.KindGone, "key_secret_gone")
}

// Two-person rules compare names, so that a name is one person's for good: nobody
// becomes somebody else by being made anew, nor the same by another spelling.
func TestOperators_ANameIsNeverASecondPersons(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store := in.first.store
	made, _, err := store.CreateOperator(t.Context(), in.ada, tenancy.NewPrincipal{Name: "lin", Scopes: tenancy.OperatorScopes()})
	must(t, err)
	_, text, _, err := store.CreateKey(t.Context(), in.ada, tenancy.Operators, tenancy.NewKey{Principal: made.ID})
	must(t, err)
	token := in.first.grant(t, text)
	_, err = store.DisableOperator(t.Context(), in.ada, made.ID)
	must(t, err)
	must(t, in.first.tokens.Poll(t.Context()))
	_, err = in.first.tokens.Authenticate(t.Context(), token)
	wantCode(t, err, domain.KindUnauthenticated, "token_revoked")

	for _, key := range []string{"", "again"} {
		_, _, err = store.CreateOperator(t.Context(), in.ada, tenancy.NewPrincipal{Name: "lin", Scopes: tenancy.OperatorScopes(), IdempotencyKey: key})
		wantCode(t, err, domain.KindConflict, "principal_name_taken")
	}
	_, _, _, err = store.CreateKey(t.Context(), in.ada, tenancy.Operators, tenancy.NewKey{Principal: made.ID})
	wantCode(t, err, domain.KindConflict, "principal_disabled")
	for _, name := range []string{"Lin", "lin ", " lin", "l\u0131n", "lin\u200b", "LIN", "ｌin"} {
		_, _, err = store.CreateOperator(t.Context(), in.ada, tenancy.NewPrincipal{Name: name, Scopes: tenancy.OperatorScopes()})
		wantCode(t, err, domain.KindInvalid, "principal_name_invalid")
	}
	// The configured first operators don't come back by a restart either.
	_, err = store.Bootstrap(t.Context(), []tenancy.BootstrapKey{{Name: "lin", Key: tenancy.GenerateKey(in.clock.Now().Add(time.Second))}})
	if scope, authErr := in.first.tokens.Authenticate(t.Context(), token); err != nil || authErr == nil {
		t.Errorf("%v: %+v", err, scope)
	}
	operators, _, err := store.Operators(t.Context(), in.ada, tenancy.List[string]{Limit: 10})
	must(t, err)
	for _, o := range operators {
		if o.Name == "lin" && (o.ID != made.ID || o.DisabledAt.IsZero()) {
			t.Errorf("%+v", o)
		}
	}
}
