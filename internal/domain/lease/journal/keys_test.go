package journal_test

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// The key of RFC 8037, appendix A.2.
const rfcKey = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

func TestParseKeys_TakesEd25519KeysAndPassesOverTheRest(t *testing.T) {
	t.Parallel()
	keys, err := journal.ParseKeys([]byte(`{"keys": [
		{"kty":"OKP","crv":"Ed25519","kid":"2026-11","x":"` + rfcKey + `","published":"2026-11-01T00:00:00Z","use":"sig"},
		{"kty":"EC","crv":"P-256","kid":"web","x":"AA","y":"AA"},
		{"kty":"EC","crv":"Ed25519","kid":"confused","x":"` + rfcKey + `"},
		{"kty":"OKP","crv":"X25519","kid":"box","x":"` + rfcKey + `"},
		{"kty":"OKP","crv":"Ed25519","x":"` + rfcKey + `"},
		{"kty":"OKP","crv":"Ed25519","kid":"2026-11","x":"` + rfcKey + `"}
	], "next": null}`))
	if err != nil {
		t.Fatal(err)
	}
	want := journal.Keys{"2026-11": ed25519.PublicKey("\xd7\x5a\x98\x01\x82\xb1\x0a\xb7\xd5\x4b\xfe\xd3\xc9\x64\x07\x3a\x0e\xe1\x72\xf3\xda\xa6\x23\x25\xaf\x02\x1a\x68\xf7\x07\x51\x1a")}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseKeys_RefusesWhatIsNoSet(t *testing.T) {
	t.Parallel()
	other := "A" + rfcKey[1:]
	for what, text := range map[string]string{
		"nothing":             ``,
		"no JSON":             `<html>`,
		"a list":              `[]`,
		"a short key":         `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"AAAA"}]}`,
		"no base64url":        `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"` + strings.Replace(rfcKey, "_", "/", 1) + `"}]}`,
		"one id for two keys": `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"` + rfcKey + `"},{"kty":"OKP","crv":"Ed25519","kid":"a","x":"` + other + `"}]}`,
		"a member twice":      `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","kid":"b","x":"` + rfcKey + `"}]}`,
	} {
		if keys, err := journal.ParseKeys([]byte(text)); err == nil {
			t.Errorf("%s: it gives %v", what, keys)
		}
	}
}

func TestParseCheckpoint_RefusesWhatIsNotToTheLetter(t *testing.T) {
	t.Parallel()
	good := string(readGolden(t).Checkpoint)
	for what, text := range map[string]string{
		"nothing":             ``,
		"a list":              "[" + good + "]",
		"more than is signed": replace(t, good, `"position"`, `"epoch": 1, "position"`),
		"a member twice":      replace(t, good, `"position"`, `"position": 1, "position"`),
		"a bad tenant":        replace(t, good, tenant.String(), strings.ToUpper(tenant.String())),
		"a bad position":      replace(t, good, `"position": `, `"position": 0.`),
		"a padded signature":  replace(t, good, `"signature": "`, `"signature": "==`),
		"no signature":        replace(t, good, `"signature"`, `"key_id"`),
		"a short signature":   good[:strings.Index(good, `"signature"`)] + `"signature": "AAAA"}`,
	} {
		if c, err := journal.ParseCheckpoint([]byte(text)); err == nil {
			t.Errorf("%s: it is %+v", what, c)
		}
	}
}

func TestCheckpoint_IsNotVerifiedByWhatIsNoKey(t *testing.T) {
	t.Parallel()
	c := must(journal.ParseCheckpoint(readGolden(t).Checkpoint))
	for _, key := range []ed25519.PublicKey{nil, make([]byte, 31), make([]byte, 32), make([]byte, 64)} {
		if c.Verify(key) == nil {
			t.Errorf("%d bytes verify it", len(key))
		}
	}
	if err := (journal.Keys{}).Verify(c); err == nil || !strings.Contains(err.Error(), `"2026-11" is not among`) {
		t.Errorf("without keys: %v", err)
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add([]byte(readGolden(f).Checkpoint))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := journal.ParseCheckpoint(text)
		if err != nil || c.Position > 1<<53-1 || c.Position < 1-1<<53 {
			return
		}
		if canonical := must(journal.CanonicalJSON(c.Signed())); string(canonical) != string(c.Signed()) {
			t.Fatalf("what is signed is not canonical:\n%s", c.Signed())
		}
	})
}
