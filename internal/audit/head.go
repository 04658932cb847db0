package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Head is the end of the chain at some time. Kept elsewhere, it shows what the log
// alone can't: that its last entries are gone, or that all of it was made anew.
type Head struct {
	Sequence  int64     `json:"sequence"` // of the last entry; 0 without one
	Hash      Hash      `json:"hash"`
	At        time.Time `json:"at"`                 // of the last entry
	KeyID     string    `json:"key_id,omitzero"`    // of one of the keys that sign checkpoints
	Signature string    `json:"signature,omitzero"` // Ed25519 (RFC 8032) of signed, base64url without padding
}

// headType keeps a signature from standing for anything else that a key might sign.
const headType = "holdfast-audit-head-v1"

// signed is what the signature is of, as canonical JSON.
func (h Head) signed() ([]byte, error) {
	return canonical(struct {
		Type string `json:"type"`
		Head
	}{headType, Head{Sequence: h.Sequence, Hash: h.Hash, At: h.At, KeyID: h.KeyID}})
}

// Signer gives the key that signs now, and the id by which its public half is
// published. tenancy.CheckpointKeys is one.
type Signer interface {
	CheckpointKey(context.Context) (keyID string, key ed25519.PrivateKey, err error)
}

// Head gives the signed end of the chain.
//
// Errors: unavailable.
func (l *Log) Head(ctx context.Context) (head Head, err error) {
	err = l.control.ControlRead(ctx, operators, func(tx pgx.Tx) error {
		head, err = lastTx(ctx, tx)
		return err
	})
	if err != nil {
		return Head{}, err
	}
	var key ed25519.PrivateKey
	if head.KeyID, key, err = l.signer.CheckpointKey(ctx); err != nil {
		return Head{}, err
	}
	text, err := head.signed()
	if err != nil {
		return Head{}, err
	}
	head.Signature = base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, text))
	return head, nil
}

// ParseHead reads a head as the API gives it.
func ParseHead(text []byte) (h Head, err error) {
	if err := json.Unmarshal(text, &h, json.RejectUnknownMembers(true)); err != nil {
		return Head{}, fmt.Errorf("it is not the head of an audit log: %w", err)
	}
	if h.Sequence < 0 || h.Hash.IsZero() {
		return Head{}, errors.New("it is not the head of an audit log: it has no hash")
	}
	return h, nil
}

var errHeadUnsigned = errors.New("the head's signature is not of this head by a key of those given")

// VerifySignature holds the head to the public keys, by their ids, of which one must
// have signed it.
func (h Head) VerifySignature(keys map[string]ed25519.PublicKey) error {
	text, err := h.signed()
	if err != nil {
		return err
	}
	signature, err := base64.RawURLEncoding.DecodeString(h.Signature)
	key := keys[h.KeyID]
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, text, signature) {
		return errHeadUnsigned
	}
	return nil
}
