package record

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Digest is the SHA-256 of a body. Its text form is 64 lower-case hexadecimal
// digits, and nothing else parses.
type Digest [sha256.Size]byte

// DigestOf is the digest of exact bytes.
func DigestOf(body []byte) Digest { return sha256.Sum256(body) }

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText gives the text form.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

var errNotDigest = errors.New("not 64 lower-case hexadecimal digits")

// UnmarshalText is the inverse of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	var parsed Digest
	if len(text) != hex.EncodedLen(len(parsed)) {
		return errNotDigest
	}
	if _, err := hex.Decode(parsed[:], text); err != nil || parsed.String() != string(text) {
		return errNotDigest
	}
	*d = parsed
	return nil
}
