package tenancy

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestStillValid_SaysWhatAuthenticateWouldSay(t *testing.T) {
	t.Parallel()
	tenant := domain.TenantID{1}
	scope := testHolder(tenant).scope
	scope.Expires = testNow.Add(tokenLifetime)
	suspended := knownTenant{state: TenantSuspended}
	for name, c := range map[string]struct {
		at      time.Duration
		revoked *revocation
		read    *knownTenant
		blind   bool
		want    string
	}{
		"as it was":                      {},
		"within the leeway":              {at: tokenLifetime + tokenLeeway - 1},
		"expired":                        {at: tokenLifetime + tokenLeeway, want: "token_expired"},
		"its key is revoked":             {revoked: &revocation{Kind: revokedKey, Subject: scope.Key}, want: "token_revoked"},
		"its principal is disabled":      {revoked: &revocation{Kind: revokedPrincipal, Subject: scope.Principal}, want: "token_revoked"},
		"another's key is revoked":       {revoked: &revocation{Kind: revokedKey, Subject: domain.KeyID{9}}},
		"the tenant is suspended":        {read: &suspended, want: "tenant_suspended"},
		"the tenant was, and is changed": {revoked: &revocation{Kind: revokedTenant, Subject: tenant}, read: &suspended},
		"the process is blind":           {blind: true, want: "auth_unavailable"},
	} {
		ring, _ := testRing()
		tokens := newTokens(t, ring)
		now := testNow.Add(c.at)
		tokens.now = func() time.Time { return now }
		if c.read != nil {
			tokens.tenants.Set(tenant, *c.read)
		}
		var revoked []revocation
		if c.revoked != nil {
			c.revoked.Sequence, c.revoked.At = 1, now
			revoked = append(revoked, *c.revoked)
		}
		tokens.known.Store(tokens.known.Load().next(now, revoked, int64(len(revoked))))
		if c.blind {
			now = now.Add(maxBlind + 1)
		}
		if got := domain.CodeOf(tokens.StillValid(scope)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
