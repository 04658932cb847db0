package tenancy

import (
	"encoding/base64"
	"testing"
	"time"
)

// The example of RFC 8037, appendix A.3.
func TestThumbprint_IsRFC7638s(t *testing.T) {
	t.Parallel()
	public, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := thumbprint(public), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"; got != want {
		t.Errorf("thumbprint = %s, want %s", got, want)
	}
}

func TestKeyring_WhenAnotherKeyIsDue(t *testing.T) {
	t.Parallel()
	first := newSigningKey(testNow, rotateEvery)
	closed := first
	closed.private = nil
	next := newSigningKey(testNow.Add(rotateEvery+publishAhead), rotateEvery)
	for name, test := range map[string]struct {
		keys []signingKey
		at   time.Duration // after testNow
		due  bool
		from time.Duration // likewise
	}{
		"the very first signs at once":         {nil, 0, true, 0},
		"a young key is enough":                {[]signingKey{first}, rotateEvery - time.Second, false, 0},
		"the next is published before":         {[]signingKey{first}, rotateEvery, true, rotateEvery + publishAhead},
		"and is made once":                     {[]signingKey{first, next}, rotateEvery + time.Second, false, 0},
		"late, it is published before as well": {[]signingKey{first}, rotateEvery + rotationGrace - time.Second, true, rotateEvery + rotationGrace - time.Second + publishAhead},
		"too late, it signs at once":           {[]signingKey{first}, rotateEvery + rotationGrace, true, rotateEvery + rotationGrace},
		"a key that can't be opened is none":   {[]signingKey{closed}, time.Hour, true, time.Hour},
	} {
		from, due := keyring{test.keys, rotateEvery}.due(testNow.Add(test.at))
		if due != test.due || due && !from.Equal(testNow.Add(test.from)) {
			t.Errorf("%s: due %v from %v, want %v from %v", name, due, from, test.due, testNow.Add(test.from))
		}
	}
}

func TestKeyring_TheNewestKeySignsAndTheOldVerifies(t *testing.T) {
	t.Parallel()
	first := newSigningKey(testNow, rotateEvery)
	next := newSigningKey(testNow.Add(rotateEvery), rotateEvery)
	ring := keyring{[]signingKey{first, next}, rotateEvery}
	if got := ring.signer(testNow.Add(rotateEvery - time.Second)); got.id != first.id {
		t.Errorf("before the next begins %s signs, want %s", got.id, first.id)
	}
	if got := ring.signer(testNow.Add(rotateEvery)); got.id != next.id {
		t.Errorf("when it begins %s signs, want %s", got.id, next.id)
	}
	if got := ring.signer(next.signsUntil); got != nil {
		t.Errorf("when all have ended %s signs, want none", got.id)
	}
	last := first.signsUntil.Add(tokenLifetime) // the last moment of the last token that the first may have signed
	if ring.verifier(first.id, last) == nil {
		t.Error("the first key is forgotten before its last token has expired")
	}
	if ring.verifier(first.id, first.verifiesUntil) != nil {
		t.Error("the first key verifies for ever")
	}
}
