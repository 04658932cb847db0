package identity

import (
	"encoding/binary"
	"math/bits"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// userCodeAlphabet has no vowels, so that no code is a word (RFC 8628,
	// section 6.1).
	userCodeAlphabet = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLetters  = 8
	userCodes        = 25_600_000_000 // 20^8, 34.6 bits
	maxUserCodeInput = 128            // octets of what somebody typed
)

// UserCode is what an end user types to say which device to approve: eight
// letters of BCDFGHJKLMNPQRSTVWXZ. The zero UserCode is none.
type UserCode struct {
	letters string
}

// NewUserCode turns 32 bytes of a keyed hash into a code. It reduces the first
// 16, as one big-endian number, modulo the count of codes: that favours no
// code by more than 2^-93, and unlike rejection it can't run out of bytes.
func NewUserCode(secret [32]byte) UserCode {
	n := bits.Rem64(binary.BigEndian.Uint64(secret[:8]), binary.BigEndian.Uint64(secret[8:16]), userCodes)
	letters := make([]byte, userCodeLetters)
	for i := range letters {
		letters[i] = userCodeAlphabet[n%uint64(len(userCodeAlphabet))]
		n /= uint64(len(userCodeAlphabet))
	}
	return UserCode{letters: string(letters)}
}

// ParseUserCode reads a code as people type it: in any letter case, and with
// anything that is not in the alphabet (spaces, hyphens, dashes) dropped. The
// error is Invalid, user_code_invalid.
func ParseUserCode(s string) (UserCode, error) {
	if len(s) > maxUserCodeInput {
		return UserCode{}, errUserCode("is longer than a code can be")
	}
	if why := damage(s); why != "" {
		return UserCode{}, errUserCode(why)
	}
	letters := strings.Map(userCodeLetter, s)
	if len(letters) != userCodeLetters {
		return UserCode{}, errUserCode("needs eight letters, as the device shows them")
	}
	return UserCode{letters: letters}, nil
}

// RestoreUserCode gives the code of a stored row from its key. It trusts its
// argument and runs no rule.
func RestoreUserCode(key string) UserCode { return UserCode{letters: key} }

// userCodeLetter is r in upper case, or -1 outside the alphabet. Only ASCII has
// an upper case here: elsewhere ſ would become S.
func userCodeLetter(r rune) rune {
	if 'a' <= r && r <= 'z' {
		r -= 'a' - 'A'
	}
	if !strings.ContainsRune(userCodeAlphabet, r) {
		return -1
	}
	return r
}

// String is the code as it is shown: "WDJB-MJHT"; "" for none.
func (c UserCode) String() string {
	if len(c.letters) != userCodeLetters {
		return c.letters
	}
	return c.letters[:userCodeLetters/2] + "-" + c.letters[userCodeLetters/2:]
}

// Key is the code's eight letters, for comparing and for claiming.
func (c UserCode) Key() string { return c.letters }

// IsZero tells the absent code.
func (c UserCode) IsZero() bool { return c == UserCode{} }

func errUserCode(why string) error {
	return domain.Invalid("user_code_invalid", "The user code "+why+".")
}
