package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Hash is a SHA-256. Its text form is 64 lower-case hexadecimal digits, and nothing
// else parses.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero tells the absent hash.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText gives the text form.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

var errNotHash = errors.New("not 64 lower-case hexadecimal digits")

// UnmarshalText is the inverse of MarshalText.
func (h *Hash) UnmarshalText(text []byte) error {
	var parsed Hash
	if len(text) != hex.EncodedLen(len(parsed)) {
		return errNotHash
	}
	if _, err := hex.Decode(parsed[:], text); err != nil || parsed.String() != string(text) {
		return errNotHash
	}
	*h = parsed
	return nil
}
