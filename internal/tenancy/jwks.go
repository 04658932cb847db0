package tenancy

import "time"

// JWKSMaxAge is how long the key set may be cached. A key is published for
// longer than that before it signs.
const JWKSMaxAge = 10 * time.Minute

// JWKS is the set of public keys (RFC 7517), for /.well-known/jwks.json with
// Cache-Control: public, max-age=600.
type JWKS struct {
	Keys []JWK `json:"keys"`
}

// JWK is an Ed25519 public key (RFC 8037).
type JWK struct {
	KeyType   string `json:"kty"` // "OKP"
	Curve     string `json:"crv"` // "Ed25519"
	Use       string `json:"use"` // "sig"
	Algorithm string `json:"alg"` // "EdDSA"
	KeyID     string `json:"kid"`
	X         string `json:"x"` // base64url, unpadded
}

// JWKS gives every key whose tokens may still be in use, and the one to come.
// Unavailable until the first Poll.
func (t *Tokens) JWKS() (JWKS, error) { panic("unwritten") }
