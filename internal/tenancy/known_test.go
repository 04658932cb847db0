package tenancy

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A process that polls when it likes, and may be away for days, must never
// accept what was revoked while a token of then still lives, nor take a tenant
// or a client for current that changed after it was read.
func TestKnown_NeverForgetsTooEarly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := testNow
		var log []revocation // all that there ever were
		var sequence int64
		var k *known
		endedKeys := map[domain.KeyID]time.Time{}
		changed := map[[16]byte]int64{} // tenants and clients, by the last change's sequence
		readAt := map[[16]byte]int64{}  // what was known when it was read last
		var changedAll int64            // the last change of a kind that this process doesn't know

		poll := func() {
			var after int64
			if k != nil {
				after = k.sequence
			}
			var rows []revocation
			for _, r := range log {
				if r.Sequence > after && now.Sub(r.At) <= revocationsKept {
					rows = append(rows, r)
				}
			}
			k = k.next(now, rows, sequence)
		}
		revoke := func(kind string, subject byte) {
			sequence++
			r := revocation{Sequence: sequence, Kind: kind, Subject: [16]byte{subject}, At: now}
			log = append(log, r)
			switch kind {
			case revokedTenant, revokedClient:
				changed[r.Subject] = sequence
			case revokedKey:
				if _, ended := endedKeys[r.Subject]; !ended {
					endedKeys[r.Subject] = now
				}
			default:
				changedAll = sequence
			}
		}
		poll()
		subject, client := rapid.ByteRange(1, 5), rapid.ByteRange(11, 15)
		t.Repeat(map[string]func(*rapid.T){
			"revoke a key":                      func(t *rapid.T) { revoke(revokedKey, subject.Draw(t, "key")) },
			"change a tenant":                   func(t *rapid.T) { revoke(revokedTenant, subject.Draw(t, "tenant")) },
			"disable a client":                  func(t *rapid.T) { revoke(revokedClient, client.Draw(t, "client")) },
			"revoke what a newer process knows": func(*rapid.T) { revoke("unheard-of", 21) },
			"read a tenant":                     func(t *rapid.T) { readAt[[16]byte{subject.Draw(t, "tenant")}] = k.sequence },
			"read a client":                     func(t *rapid.T) { readAt[[16]byte{client.Draw(t, "client")}] = k.sequence },
			"poll":                              func(*rapid.T) { poll() },
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 60, 900, 7200, 90000}).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) {
				for key, at := range endedKeys {
					// Its last token was sold when it ended.
					alive := k.at.Sub(at) < tokenLifetime+tokenLeeway
					if seen := !at.After(k.at) && k.sequence == sequence; seen && alive && !k.revoked(Scope{Key: key}) {
						t.Fatalf("a token of the key %v, revoked at %v, is accepted at %v", key[0], at, k.at)
					}
				}
				for id, at := range readAt {
					if k.sequence == sequence && at < max(changed[id], changedAll) && k.current(id, at) {
						t.Fatalf("%v, read at %d and changed at %d, is taken for current at %d", id[0], at, max(changed[id], changedAll), k.sequence)
					}
				}
				if k.revoked(Scope{Key: domain.KeyID{9}, Principal: domain.PrincipalID{9}}) {
					t.Fatal("a key that nobody revoked is refused")
				}
			},
		})
	})
}
