package tenancy

import (
	"log/slog"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// newTokens is a Tokens that has polled once and found the ring's keys.
func newTokens(t testing.TB, ring keyring) *Tokens {
	t.Helper()
	store := NewStore(nil, nil, nil, func() time.Time { return testNow })
	tokens, err := NewTokens(store, TokenSettings{Issuer: testIssuer}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	tokens.ring.Store(&ring)
	tokens.known.Store(new(known).next(testNow, nil, 0))
	return tokens
}

// operatorToken is one whose verification takes no database.
func operatorToken(t testing.TB, key *signingKey) string {
	t.Helper()
	token, err := sign(key, testIssuer, testHolder(Operators), testNow)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestAuthenticate_VerifiesATokenOnce(t *testing.T) {
	t.Parallel()
	ring, key := testRing()
	tokens := newTokens(t, ring)
	seen, unseen := operatorToken(t, key), operatorToken(t, key)
	if _, err := tokens.Authenticate(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	tokens.ring.Store(&keyring{}) // nothing can be verified any more
	if _, err := tokens.Authenticate(t.Context(), seen); err != nil {
		t.Errorf("the token that was verified before: %v", err)
	}
	if _, err := tokens.Authenticate(t.Context(), unseen); domain.CodeOf(err) != "token_invalid" {
		t.Errorf("one that was not: %v, want token_invalid", err)
	}
}

func TestAuthenticate_WhatIsCachedEndsWithTheTokenAndWithItsKey(t *testing.T) {
	t.Parallel()
	ring, key := testRing()
	tokens := newTokens(t, ring)
	now := testNow
	tokens.now = func() time.Time { return now }
	token := operatorToken(t, key)
	authenticate := func() string {
		tokens.known.Store(tokens.known.Load().next(now, nil, tokens.known.Load().sequence))
		_, err := tokens.Authenticate(t.Context(), token)
		return domain.CodeOf(err)
	}
	if code := authenticate(); code != "" {
		t.Fatal(code)
	}
	now = testNow.Add(tokenLifetime + tokenLeeway)
	if code := authenticate(); code != "token_expired" {
		t.Errorf("expired: %q, want token_expired", code)
	}
	now = testNow
	if code := authenticate(); code != "" {
		t.Fatal(code)
	}
	revoked := revocation{Sequence: 1, Kind: revokedKey, Subject: testHolder(Operators).scope.Key, At: now}
	tokens.known.Store(tokens.known.Load().next(now, []revocation{revoked}, 1))
	if code := authenticate(); code != "token_revoked" {
		t.Errorf("revoked: %q, want token_revoked", code)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	ring, key := testRing()
	tokens := newTokens(b, ring)
	token := operatorToken(b, key)
	authenticate := func(b *testing.B) {
		if _, err := tokens.Authenticate(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			authenticate(b)
		}
	})
	b.Run("cached, in parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				authenticate(b)
			}
		})
	})
	b.Run("verified", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tokens.tokens.InvalidateAll()
			authenticate(b)
		}
	})
}
