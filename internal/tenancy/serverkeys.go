package tenancy

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// ErrNoServerKey means that something is kept under a server key that this
// process was not given.
var ErrNoServerKey = errors.New("no server key of that id")

// ServerKey is one of the secrets that the processes share by configuration.
type ServerKey struct {
	ID     string // [a-z0-9-]{1,32}
	Secret [32]byte
}

// String and GoString keep the secret out of logs.
func (k ServerKey) String() string   { return "server key " + k.ID }
func (k ServerKey) GoString() string { return k.String() }

// ServerKeys are the server keys in order: the first is current, the others are
// for what is still kept under them. To rotate, add the new key at the end on
// every process, then move it to the front, and drop the old one when nothing
// is under it: signing keys for some 31 days, secrets shown once for as long as
// a lost answer may be asked for again.
type ServerKeys struct {
	current string
	byID    map[string]derivedKeys
}

// derivedKeys are a server key's own two keys, so that none serves two purposes.
type derivedKeys struct {
	mac  []byte
	aead cipher.AEAD // prepends a random nonce
}

// NewServerKeys takes at least one key; ids are distinct.
func NewServerKeys(keys ...ServerKey) (*ServerKeys, error) {
	if len(keys) == 0 {
		return nil, errors.New("at least one server key is needed")
	}
	k := &ServerKeys{current: keys[0].ID, byID: make(map[string]derivedKeys, len(keys))}
	for _, key := range keys {
		if _, twice := k.byID[key.ID]; twice {
			return nil, fmt.Errorf("server key %q is given twice", key.ID)
		}
		derived, err := deriveKeys(key)
		if err != nil {
			return nil, err
		}
		k.byID[key.ID] = derived
	}
	return k, nil
}

var serverKeyID = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

func deriveKeys(key ServerKey) (derivedKeys, error) {
	if !serverKeyID.MatchString(key.ID) {
		return derivedKeys{}, errors.New("a server key's id is 1 to 32 of a-z, 0-9 and -")
	}
	mac, err := hkdf.Key(sha256.New, key.Secret[:], nil, "holdfast/v1/derive", 32)
	if err != nil {
		return derivedKeys{}, err
	}
	seal, err := hkdf.Key(sha256.New, key.Secret[:], nil, "holdfast/v1/seal", 32)
	if err != nil {
		return derivedKeys{}, err
	}
	block, err := aes.NewCipher(seal)
	if err != nil {
		return derivedKeys{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return derivedKeys{mac, aead}, err
}

// Current is the id of the key that new things are kept under.
func (k *ServerKeys) Current() string { return k.current }

// Derive makes a secret that is shown once, 32 bytes, from the server key of the
// id and what the secret is for. Keep the id beside the secret's hash, and a
// retry gets the same one. ErrNoServerKey when the key was taken away.
func (k *ServerKeys) Derive(id string, parts ...string) ([]byte, error) {
	keys, found := k.byID[id]
	if !found {
		return nil, fmt.Errorf("%w: %q", ErrNoServerKey, id)
	}
	return domain.DeriveSecret(keys.mac, parts...), nil
}

// Seal encrypts with AES-256-GCM under the current key, whose id it returns to
// be kept beside the sealed text. The name binds it to the row it belongs to.
func (k *ServerKeys) Seal(plain []byte, name string) (id string, sealed []byte) {
	return k.current, k.byID[k.current].aead.Seal(nil, nil, plain, []byte(name))
}

// Open decrypts what Seal made, under the same name.
func (k *ServerKeys) Open(id string, sealed []byte, name string) ([]byte, error) {
	keys, found := k.byID[id]
	if !found {
		return nil, fmt.Errorf("%w: %q", ErrNoServerKey, id)
	}
	return keys.aead.Open(nil, nil, sealed, []byte(name))
}
