package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Hash is a SHA-256. Its text form is 64 lower-case hexadecimal digits, and nothing
// else parses.
type Hash [sha256.Size]byte

// root is what the first entry names as the hash in front.
var root = Hash(sha256.Sum256([]byte(entryType + "\n")))

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

// Digest is the SHA-256 of a representation as canonical JSON (RFC 8785).
func Digest(representation []byte) (Hash, error) {
	value := jsontext.Value(representation).Clone()
	if err := value.Canonicalize(); err != nil {
		return Hash{}, err
	}
	return sha256.Sum256(value), nil
}

// canonical is a value as RFC 8785 JSON.
func canonical(v any) (jsontext.Value, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(text)
	return value, value.Canonicalize()
}
