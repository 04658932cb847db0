package tenancy

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/MicahParks/jwkset"
)

const (
	maxKeySet  = 256 << 10 // bytes
	maxKeys    = 100
	minRSABits = 2048
)

var errKeySetTooLarge = fmt.Errorf("it is longer than %d KiB", maxKeySet>>10)

// fetchKeys reads an issuer's key set (RFC 7517), and of it what can verify a token:
// public keys with an id, that are not for encryption.
func fetchKeys(ctx context.Context, client *http.Client, uri string) (jwkset.Storage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	request.Header.Set("User-Agent", "holdfast")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, statusError(response.StatusCode)
	}
	if media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil, errors.New("it isn't JSON")
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeySet+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeySet {
		return nil, errKeySetTooLarge
	}
	return parseKeys(ctx, text)
}

// parseKeys passes over what it doesn't know, so that one strange key doesn't take the
// others with it. A key id that comes twice names neither.
func parseKeys(ctx context.Context, text []byte) (jwkset.Storage, error) {
	var set struct {
		Keys []jwkset.JWKMarshal `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("it isn't a key set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has more than %d keys", maxKeys)
	}
	seen := map[string]int{}
	for _, key := range set.Keys {
		seen[key.KID]++
	}
	keys := jwkset.NewMemoryStorage()
	for _, described := range set.Keys {
		if described.KID == "" || seen[described.KID] > 1 || described.USE != "" && described.USE != jwkset.UseSig {
			continue
		}
		described.X5U, described.X5C, described.X5T, described.X5TS256 = "", nil, "", "" // certificates say nothing here
		key, err := jwkset.NewJWKFromMarshal(described, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err != nil || !verifiesTokens(key.Key()) {
			continue
		}
		if err := keys.KeyWrite(ctx, key); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// verifiesTokens tells a public key of a kind whose private half others have.
func verifiesTokens(key any) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}
