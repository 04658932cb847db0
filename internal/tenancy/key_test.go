package tenancy_test

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var keyForm = regexp.MustCompile(`^hf_[0-9a-f]{32}_[A-Za-z0-9_-]{43}$`)

func TestCreateKey_ALostAnswersRetryGetsTheSameSecret(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	want := tenancy.NewKey{Principal: p.ID, Label: "first", ExpiresAt: new(in.clock.Now().Add(time.Hour)), IdempotencyKey: "one"}
	key, text, replayed, err := in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	must(t, err)
	expected := tenancy.Key{ID: key.ID, Principal: p.ID, Label: "first", CreatedAt: in.clock.Now(), ExpiresAt: *want.ExpiresAt}
	if diff := cmp.Diff(expected, key); diff != "" || replayed || !keyForm.MatchString(text) {
		t.Errorf("text %q, replayed %v, key (-want +got)\n%s", text, replayed, diff)
	}

	// Another process answers the retry, with a newer server key in front.
	rotated := in.start(t, serverKey("k2"), serverKey("k1"))
	again, textAgain, replayed, err := rotated.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	if diff := cmp.Diff(expected, again); diff != "" || textAgain != text || !replayed || err != nil {
		t.Errorf("retry: text equal %v, replayed %v, %v, key (-want +got)\n%s", textAgain == text, replayed, err, diff)
	}
	dropped := in.start(t, serverKey("k2"))
	_, _, _, err = dropped.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	wantCode(t, err, domain.KindGone, "key_secret_gone")
	dropped.tokens.Poll(t.Context())
	dropped.grant(t, text) // what is stored is the secret's hash: it works all the same

	reused := want
	reused.Label = "second"
	_, _, _, err = in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, reused)
	wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")

	want.IdempotencyKey = "two"
	_, other, _, err := rotated.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	if err != nil || other == text {
		t.Errorf("another Idempotency-Key: %v, same text %v", err, other == text)
	}
	undone := in.start(t, serverKey("k1"), serverKey("k2")) // a retry after the server key was taken back
	_, otherAgain, replayed, err := undone.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	if err != nil || otherAgain != other || !replayed {
		t.Errorf("its retry: %v, same text %v, replayed %v", err, otherAgain == other, replayed)
	}
	for _, works := range []string{text, other} {
		in.first.grant(t, works)
	}
}

func TestCreateKey_StoresOnlyTheHash(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	_, key, text := in.client(t, "acme")
	secret := text[len("hf_")+32+1:]
	sum := sha256.Sum256([]byte(secret))
	stored := rows(t, in.admin, pgx.RowTo[[]byte], `SELECT secret_hash FROM api_keys WHERE key_id = $1`, key.ID)
	if diff := cmp.Diff([][]byte{sum[:]}, stored); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	for _, row := range rows(t, in.admin, pgx.RowTo[string], `SELECT k::text FROM api_keys k`) {
		if strings.Contains(row, secret) {
			t.Error("the secret itself is stored")
		}
	}
}

func TestCreateKey_RefusesWhatIsMalformed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	create := func(tenant domain.TenantID, want tenancy.NewKey) error {
		_, _, _, err := in.first.store.CreateKey(t.Context(), in.ada, tenant, want)
		return err
	}
	for _, label := range []string{strings.Repeat("a", 129), "a\x00", "a\nb", "\xff"} {
		wantCode(t, create(tenant.ID, tenancy.NewKey{Principal: p.ID, Label: label}), domain.KindInvalid, "label_invalid")
	}
	wantCode(t, create(domain.TenantID{1}, tenancy.NewKey{Principal: p.ID}), domain.KindNotFound, "tenant_not_found")
	wantCode(t, create(other.ID, tenancy.NewKey{Principal: p.ID}), domain.KindNotFound, "principal_not_found")
	wantCode(t, create(tenancy.Operators, tenancy.NewKey{Principal: p.ID}), domain.KindNotFound, "principal_not_found")
}

func TestCreateKey_ExpiresInTheFutureAndWithinAHundredYears(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	now := in.clock.Now()
	last := now.AddDate(100, 0, 0)
	// Its year in UTC is 10000, which JSON can't tell.
	beyond := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -(23*60+59)*60))
	for _, of := range []struct {
		tenant    domain.TenantID
		principal domain.PrincipalID
	}{{tenant.ID, p.ID}, {tenancy.Operators, in.ada.Principal}} {
		create := func(at time.Time, idempotency string) (tenancy.Key, error) {
			key, _, _, err := in.first.store.CreateKey(t.Context(), in.ada, of.tenant,
				tenancy.NewKey{Principal: of.principal, ExpiresAt: &at, IdempotencyKey: idempotency})
			return key, err
		}
		for _, at := range []time.Time{{}, now.Add(-time.Hour), now, last.Add(time.Microsecond), beyond} {
			for _, idempotency := range []string{"", "refused"} {
				_, err := create(at, idempotency)
				wantCode(t, err, domain.KindInvalid, "expires_at_invalid")
			}
		}
		for _, at := range []time.Time{now.Add(time.Microsecond), last} {
			if key, err := create(at.In(time.FixedZone("", 3600)), ""); err != nil || !key.ExpiresAt.Equal(at) {
				t.Errorf("%v: expires at %v, %v", at, key.ExpiresAt, err)
			}
		}
	}
}

func TestCreateKey_ARetryIsAnsweredAfterTheKeyHasExpired(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	want := tenancy.NewKey{Principal: p.ID, ExpiresAt: new(in.clock.Now().Add(time.Minute)), IdempotencyKey: "one"}
	key, text, _, err := in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	must(t, err)

	in.clock.advance(time.Hour)
	again, textAgain, replayed, err := in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	if diff := cmp.Diff(key, again); diff != "" || textAgain != text || !replayed || err != nil {
		t.Errorf("retry: text equal %v, replayed %v, %v, key (-want +got)\n%s", textAgain == text, replayed, err, diff)
	}
	for _, at := range []*time.Time{nil, {}} {
		other := want
		other.ExpiresAt = at
		_, _, _, err = in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, other)
		wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	}
	want.IdempotencyKey = "two"
	_, _, _, err = in.first.store.CreateKey(t.Context(), in.ada, tenant.ID, want)
	wantCode(t, err, domain.KindInvalid, "expires_at_invalid")
}

func TestKeys_PagesByID(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	p, q := in.principal(t, tenant.ID, "p", tenancy.LeaseRead), in.principal(t, tenant.ID, "q", tenancy.LeaseRead)
	want := map[domain.KeyID]bool{}
	for range 3 {
		key, _ := in.key(t, tenant.ID, p)
		want[key.ID] = true
		in.key(t, tenant.ID, q)
	}
	got := map[domain.KeyID]bool{}
	page := tenancy.List[domain.KeyID]{Limit: 2}
	for more := true; more; {
		var keys []tenancy.Key
		var err error
		keys, more, err = in.first.store.Keys(t.Context(), in.ada, tenant.ID, p.ID, page)
		must(t, err)
		if len(keys) > 2 || len(keys) == 0 {
			t.Fatalf("a page of %d", len(keys))
		}
		for _, key := range keys {
			got[key.ID] = true
			page.After = key.ID
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
	_, _, err := in.first.store.Keys(t.Context(), in.ada, other.ID, p.ID, page)
	wantCode(t, err, domain.KindNotFound, "principal_not_found")
}

func TestRevokeKey_EndsItsTokensOnEveryProcess(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	second := in.start(t)
	must(t, second.tokens.Poll(t.Context()))
	tenant := in.tenant(t, "acme")
	other := in.tenant(t, "other")
	p := in.principal(t, tenant.ID, "backend", tenancy.IdentityRead)
	old, oldText := in.key(t, tenant.ID, p)
	_, newText := in.key(t, tenant.ID, p)
	oldToken, newToken := in.first.grant(t, oldText), in.first.grant(t, newText)
	second.authenticate(t, oldToken)
	before := len(in.revocations(t))

	_, err := in.first.store.RevokeKey(t.Context(), in.ada, other.ID, old.ID)
	wantCode(t, err, domain.KindNotFound, "key_not_found")
	want := old
	want.RevokedAt = in.clock.Now()
	for range 2 {
		got, err := in.first.store.RevokeKey(t.Context(), in.ada, tenant.ID, old.ID)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("revoke: %v (-want +got)\n%s", err, diff)
		}
	}
	if diff := cmp.Diff([]revocationRow{{int64(before) + 1, tenant.ID, "key", old.ID}}, in.revocations(t)[before:]); diff != "" {
		t.Errorf("revocations (-want +got)\n%s", diff)
	}

	must(t, second.tokens.Poll(t.Context()))
	late := in.start(t) // a process that starts later knows it too
	must(t, late.tokens.Poll(t.Context()))
	for _, p := range []process{second, late} {
		_, err := p.tokens.Authenticate(t.Context(), oldToken)
		wantCode(t, err, domain.KindUnauthenticated, "token_revoked")
		p.authenticate(t, newToken)
	}
	wantGrantError(t, second, request(oldText), tenancy.GrantInvalidClient)
	second.grant(t, newText)
}
