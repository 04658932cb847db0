package tenancy_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const day = 24 * time.Hour

func published(t testing.TB, p process) []string {
	t.Helper()
	set, err := p.tokens.JWKS()
	must(t, err)
	var ids []string
	for _, key := range set.Keys {
		ids = append(ids, key.KeyID)
	}
	return ids
}

// signedBy is the kid in the token's header.
func signedBy(t testing.TB, token string) string {
	t.Helper()
	encoded, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	must(t, err)
	var header struct {
		KeyID string `json:"kid"`
	}
	must(t, json.Unmarshal(text, &header))
	return header.KeyID
}

func TestRotation_TheNextKeyIsKnownBeforeItSignsAndTheOldUntilItsTokensExpired(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	second := in.start(t)
	poll := func() {
		t.Helper()
		must(t, in.first.tokens.Poll(t.Context()))
		must(t, second.tokens.Poll(t.Context()))
	}
	poll()
	old := published(t, in.first)
	if len(old) != 1 || signedBy(t, in.first.grant(t, in.adaKey)) != old[0] {
		t.Fatalf("published %v, want the one key that signs", old)
	}

	in.clock.advance(30*day - time.Second)
	poll()
	if got := published(t, second); !slices.Equal(got, old) {
		t.Errorf("a second before 30 days %v are published, want %v", got, old)
	}
	in.clock.advance(time.Second)
	poll()
	both := published(t, second)
	if len(both) != 2 || both[0] != old[0] || !slices.Equal(both, published(t, in.first)) {
		t.Fatalf("published %v, want %s and another", both, old[0])
	}

	// Whoever cached the key set when the next key came into it must have read it
	// again before that key signs.
	in.clock.advance(tenancy.JWKSMaxAge)
	poll()
	lastOld := in.first.grant(t, in.adaKey)
	if got := signedBy(t, lastOld); got != both[0] {
		t.Errorf("%s signs within the key set's age, want %s", got, both[0])
	}
	in.clock.advance(5 * time.Minute)
	poll()
	if got := signedBy(t, second.grant(t, in.adaKey)); got != both[1] {
		t.Errorf("%s signs after it, want %s", got, both[1])
	}
	second.authenticate(t, lastOld)
	second.authenticate(t, in.first.grant(t, in.adaKey))

	in.clock.advance(2 * day)
	poll()
	if got := published(t, second); !slices.Equal(got, both[1:]) {
		t.Errorf("two days later %v are published, want %v", got, both[1:])
	}
}

func TestRotation_OfManyProcessesMakesOneKey(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	var processes []process
	for range 8 {
		processes = append(processes, in.start(t))
	}
	in.clock.advance(30 * day)
	_, errs := parallel(t.Context(), 8, func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, processes[i].tokens.Poll(ctx)
	})
	must(t, errors.Join(errs...))
	for _, p := range processes {
		if got := published(t, p); len(got) != 2 {
			t.Errorf("published %v, want two", got)
		}
	}
}

func TestRotation_AServerKeyTakenAwayCostsASigningKeyAndNoToken(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	token := in.first.grant(t, in.adaKey)
	other := in.start(t, serverKey("k2"))
	must(t, other.tokens.Poll(t.Context()))
	other.authenticate(t, token)
	next := other.grant(t, in.adaKey)
	if signedBy(t, next) == signedBy(t, token) {
		t.Error("it signs with a key that it can't open")
	}
	must(t, in.first.tokens.Poll(t.Context()))
	in.first.authenticate(t, next)
	in.first.grant(t, in.adaKey) // with its own key, since it can't open the newer one
}
