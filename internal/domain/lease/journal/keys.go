package journal

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Keys are public keys by their ids.
type Keys map[string]ed25519.PublicKey

// ParseKeys reads the keys that Holdfast publishes: a JWK set (RFC 7517, section
// 5) with Ed25519 keys (RFC 8037, section 2). Keys of other types and members
// besides are passed over.
func ParseKeys(text []byte) (Keys, error) {
	var set struct {
		Keys []struct {
			Type  string `json:"kty"`
			Curve string `json:"crv"`
			ID    string `json:"kid"`
			X     string `json:"x"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, misread("a JWK set", err)
	}
	keys := make(Keys, len(set.Keys))
	for _, jwk := range set.Keys {
		if jwk.Type != "OKP" || jwk.Curve != "Ed25519" || jwk.ID == "" {
			continue
		}
		key, err := base64.RawURLEncoding.DecodeString(jwk.X)
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("the key %q is not 32 bytes as base64url", jwk.ID)
		}
		if before, twice := keys[jwk.ID]; twice && !bytes.Equal(before, key) {
			return nil, fmt.Errorf("the key id %q is that of two keys", jwk.ID)
		}
		keys[jwk.ID] = key
	}
	return keys, nil
}

// Verify holds a checkpoint to the key that it names.
func (k Keys) Verify(c Checkpoint) error {
	key, known := k[c.KeyID]
	if !known {
		return fmt.Errorf("the checkpoint's key %q is not among those given", c.KeyID)
	}
	return c.Verify(key)
}
