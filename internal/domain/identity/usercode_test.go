package identity_test

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func TestUserCode_IsReadHoweverItIsTyped(t *testing.T) {
	for _, s := range []string{
		"WDJB-MJHT", "WDJBMJHT", "wdjb-mjht", " wdjb mjht ", "WDJB–MJHT", "W.D.J.B.M.J.H.T", "WDJB-MJHT\r\n", "\twdjb\u00a0mjht",
		"WADIJOBU-MJHT1", // what is not in the alphabet can't be part of a code
	} {
		c, err := identity.ParseUserCode(s)
		if err != nil || c.Key() != "WDJBMJHT" || c.String() != "WDJB-MJHT" {
			t.Errorf("%+q: %q, %v", s, c, err)
		}
	}
}

func TestUserCode_IsRefused(t *testing.T) {
	for name, s := range map[string]string{
		"empty":                  "",
		"only dashes":            "----",
		"seven letters":          "WDJB-MJH",
		"nine letters":           "WDJB-MJHTT",
		"letters beyond ASCII":   "WDJB-MJH\u017f", // long s, a capital S elsewhere
		"fullwidth":              "ＷＤＪＢＭＪＨＴ",
		"too long to look at":    "WDJB-MJHT" + strings.Repeat(" ", 120),
		"NUL":                    "WDJB\x00MJHT",
		"invalid UTF-8":          "WDJB\xffMJHT",
		"replacement character":  "WDJB\ufffdMJHT",
		"of vowels and digits":   "AEIOU012",
		"invalid UTF-8, a lot":   strings.Repeat("\xff", 1<<20),
		"valid code, twice":      "WDJB-MJHT WDJB-MJHT",
		"encoded lone surrogate": "WDJB\xed\xa0\x80MJHT",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := identity.ParseUserCode(s)
			wantRefusal(t, err, "user_code_invalid", s)
			if !c.IsZero() || c.String() != "" {
				t.Errorf("a refused code is not zero: %q", c)
			}
		})
	}
}

// The code is the first 128 bits modulo 20^8, least letter first: checked here
// by arithmetic of another kind.
func TestNewUserCode_IsItsSecretModuloTheCodes(t *testing.T) {
	const alphabet = "BCDFGHJKLMNPQRSTVWXZ"
	var counts [20]int
	const draws = 20_000
	for i := range draws {
		secret := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		n := new(big.Int).SetBytes(secret[:16])
		var want strings.Builder
		for range 8 {
			var letter big.Int
			n.DivMod(n, big.NewInt(20), &letter)
			want.WriteByte(alphabet[letter.Int64()])
			counts[letter.Int64()]++
		}
		code := identity.NewUserCode(secret)
		if code.Key() != want.String() {
			t.Fatalf("draw %d: %s, want %s", i, code.Key(), want.String())
		}
		if parsed, err := identity.ParseUserCode(code.String()); err != nil || parsed != code {
			t.Fatalf("draw %d: %s parses as %q, %v", i, code, parsed, err)
		}
	}
	// 8,000 a letter are expected, with a standard deviation of 87.
	for i, n := range counts {
		if n < 7_500 || n > 8_500 {
			t.Errorf("letter %c came %d times of %d", alphabet[i], n, 8*draws)
		}
	}
	var ones [32]byte
	for i := range ones {
		ones[i] = 0xff
	}
	if code := identity.NewUserCode(ones); len(code.Key()) != 8 {
		t.Errorf("the highest secret gives %q", code.Key())
	}
}

func TestRestoreUserCode(t *testing.T) {
	c, err := identity.ParseUserCode("wdjb mjht")
	if err != nil || identity.RestoreUserCode(c.Key()) != c {
		t.Errorf("a restored code differs from the one that was stored: %v", err)
	}
}
