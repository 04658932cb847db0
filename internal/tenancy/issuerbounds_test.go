package tenancy_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Tokens that name an issuer that nobody trusts cost one read a second, which also says
// how soon one that is trusted now is known.
func TestTrusted_ThatNobodyDoesIsRememberedForASecond(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	p := newIDP(t)
	process := in.startTrusting(t, p)
	expect := func(when, want string) {
		t.Helper()
		if code := process.code(t.Context(), p.token(t, in.clock.Now(), nil)); code != want {
			t.Errorf("%s: %q", when, code)
		}
	}
	expect("before", "token_invalid")
	in.trust(t, in.tenant(t, "acme").ID, p, tenancy.RecordRead)
	expect("as it is remembered", "token_invalid")
	in.clock.advance(time.Second)
	expect("a second later", "")
}

func TestCreateIssuer_SixteenAtATime(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	create := func(ctx context.Context, of domain.TenantID, n int) (tenancy.Issuer, error) {
		url := fmt.Sprintf("https://id.example/%s/%d", of, n)
		i, _, err := in.first.store.CreateIssuer(ctx, in.ada, of, tenancy.NewIssuer{
			URL: url, JWKSURI: url, Audience: "api", Scopes: []string{tenancy.RecordRead}, IdempotencyKey: fmt.Sprint(n),
		})
		return i, err
	}
	made, errs := parallel(t.Context(), 20, func(ctx context.Context, n int) (tenancy.Issuer, error) { return create(ctx, tenant.ID, n) })
	first, refused := -1, 0
	for n, err := range errs {
		switch {
		case err != nil:
			wantCode(t, err, domain.KindConflict, "issuers_too_many")
			refused++
		case first < 0:
			first = n
		}
	}
	if refused != 4 {
		t.Fatalf("of 20 at once %d were refused", refused)
	}
	if again, err := create(t.Context(), tenant.ID, first); err != nil || again.ID != made[first].ID {
		t.Errorf("a retry: %+v, %v", again, err)
	}
	if _, err := create(t.Context(), other.ID, 0); err != nil {
		t.Errorf("another tenant's: %v", err)
	}
	_, err := in.first.store.DisableIssuer(t.Context(), in.ada, tenant.ID, made[first].ID)
	must(t, err)
	if _, err := create(t.Context(), tenant.ID, 20); err != nil {
		t.Errorf("in the place of one: %v", err)
	}
}

// A tenant's slow issuers take a few fetches, and leave the others to other tenants.
func TestKeys_ATenantsSlowIssuersTakeNobodyElsesFetches(t *testing.T) {
	t.Parallel()
	const issuers, most = 16, 4
	in := install(t, 1)
	slow, quick := newIDP(t), newIDP(t)
	release, arrived := make(chan struct{}), make(chan struct{}, issuers)
	slow.publish("", func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusBadGateway)
	})
	tenant := in.tenant(t, "acme")
	for n := range issuers {
		url := fmt.Sprint(slow.server.URL, "/", n)
		_, _, err := in.first.store.CreateIssuer(t.Context(), in.ada, tenant.ID, tenancy.NewIssuer{
			URL: url, JWKSURI: url, Audience: "holdfast-api", Scopes: []string{tenancy.RecordRead},
		})
		must(t, err)
	}
	in.trust(t, in.tenant(t, "other").ID, quick, tenancy.RecordRead)
	process := in.startTrusting(t, slow)

	codes := make(chan string, issuers)
	for n := range issuers {
		token := slow.token(t, in.clock.Now(), func(c jwt.MapClaims, _ map[string]any) { c["iss"] = fmt.Sprint(slow.server.URL, "/", n) })
		go func() { codes <- process.code(t.Context(), token) }()
	}
	for n := range issuers {
		if n == issuers-most { // the others are answered at once, and these wait
			for range most {
				<-arrived
			}
			if code := process.code(t.Context(), quick.token(t, in.clock.Now(), nil)); code != "" {
				t.Errorf("another tenant's token: %q", code)
			}
			close(release)
		}
		if code := <-codes; code != "issuer_unavailable" {
			t.Errorf("a slow issuer's token: %q", code)
		}
	}
	if n := slow.fetches.Load(); n != most {
		t.Errorf("%d fetches for one tenant", n)
	}
}
