package identity

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestSecretTexts_AreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	octets := func(n int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), n, n) }
	rapid.Check(t, func(t *rapid.T) {
		id := domain.DeviceID(octets(16).Draw(t, "id"))
		secret := [secretSize]byte(octets(secretSize).Draw(t, "secret"))
		code := deviceCode{id, secret}
		if got, ok := parseDeviceCode(code.String()); !ok || got != code || len(code.String()) != 64 {
			t.Errorf("%q is read as %v, %v", code, got, ok)
		}
		token := refreshToken{id, rapid.Int64Min(1).Draw(t, "generation"), secret}
		if got, ok := parseRefreshToken(token.String()); !ok || got != token || len(token.String()) != 75 {
			t.Errorf("%q is read as %v, %v", token, got, ok)
		}
	})
}

func TestSecretTexts_HaveOneSpelling(t *testing.T) {
	t.Parallel()
	code := deviceCode{device: domain.RandomID[domain.DeviceKind](), secret: [secretSize]byte{31: 0xff}}.String()
	token := refreshToken{device: domain.RandomID[domain.DeviceKind](), generation: 1}.String()
	for _, text := range []string{"", code[1:], code + "=", code + "A", " " + code, code[:40] + "\n" + code[41:], code[:63] + "\n",
		code[:62] + "\r\n", strings.Repeat("+", 64), strings.Repeat("é", 32), token} {
		if _, ok := parseDeviceCode(text); ok {
			t.Errorf("%q is read as a device code", text)
		}
	}
	for _, generation := range []int64{0, -1} {
		if text := (refreshToken{generation: generation}).String(); len(text) != len(token) {
			t.Errorf("%q has %d characters", text, len(text))
		} else if _, ok := parseRefreshToken(text); ok {
			t.Errorf("the token of generation %d is read as one", generation)
		}
	}
	for _, text := range []string{"", token[1:], token + "A", token[:74] + "B", token[:74] + "=", token[:74] + "\n", code} {
		if _, ok := parseRefreshToken(text); ok {
			t.Errorf("%q is read as a refresh token", text)
		}
	}
}
