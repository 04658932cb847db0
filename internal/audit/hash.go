package audit

import (
	"crypto/sha256"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Hash is that of an entry, or of what an act changed.
type Hash = domain.Hash

// root is what the first entry names as the hash in front.
var root = Hash(sha256.Sum256([]byte(entryType + "\n")))

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
