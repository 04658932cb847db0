package tenancy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A key's text is hf_<id>_<secret>: the id is 32 lower-case hex digits, the
// secret 32 bytes as 43 characters of unpadded base64url. What comes before the
// second underscore is the client's id at the token endpoint.

const keyPrefix = "hf_"

func clientID(id domain.KeyID) string { return hexID(keyPrefix, id) }

func parseClientID(text string) (id domain.KeyID, ok bool) {
	ok = parseHexID(text, keyPrefix, &id)
	return id, ok
}

// hexID is the prefix and the id's 32 hex digits: a word without a hyphen, which
// a double click takes whole.
func hexID[K any](prefix string, id domain.ID[K]) string { return prefix + hex.EncodeToString(id[:]) }

func parseHexID[K any](text, prefix string, id *domain.ID[K]) bool {
	digits, found := strings.CutPrefix(text, prefix)
	if !found || len(digits) != 32 || digits != strings.ToLower(digits) {
		return false
	}
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return false
	}
	*id = domain.ID[K](raw)
	return true
}

func formatKey(id domain.KeyID, secret string) string { return clientID(id) + "_" + secret }

// parseKey splits a key's text.
func parseKey(text string) (id domain.KeyID, secret string, ok bool) {
	const idLength = len(keyPrefix) + 32
	if len(text) <= idLength || text[idLength] != '_' {
		return domain.KeyID{}, "", false
	}
	id, ok = parseClientID(text[:idLength])
	secret = text[idLength+1:]
	raw, err := base64.RawURLEncoding.Strict().DecodeString(secret)
	return id, secret, ok && err == nil && len(raw) == 32
}

// deriveSecret makes a key's secret: the same for the same key, for as long as
// the server key is there.
func (s *Store) deriveSecret(serverKey string, tenant domain.TenantID, principal domain.PrincipalID, id domain.KeyID) (string, error) {
	secret, err := s.keys.Derive(serverKey, "api-key", tenant.String(), principal.String(), id.String())
	return base64.RawURLEncoding.EncodeToString(secret), err
}

// hashSecret is what is stored of a secret. 256 random bits need no slow hash.
func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// GenerateKey makes the text of a key for one of an installation's first
// operators, to be configured: Bootstrap takes it.
func GenerateKey(now time.Time) string {
	var secret [32]byte
	rand.Read(secret[:])
	var id domain.KeyID
	fresh(&id, now)
	return formatKey(id, base64.RawURLEncoding.EncodeToString(secret[:]))
}
