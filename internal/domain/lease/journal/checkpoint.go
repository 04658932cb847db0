package journal

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Checkpoint is Holdfast's word that a journal had a hash at a position. Kept
// elsewhere it shows what the journal alone can't: that its last entries are gone,
// or that all of it was made anew.
type Checkpoint struct {
	Tenant    domain.TenantID
	World     string
	Position  int64
	Hash      Hash      // of the entry there
	At        time.Time // when it was signed, to the microsecond
	KeyID     string
	Signature []byte // Ed25519 (RFC 8032), of Signed
}

// checkpointType keeps a signature from standing for anything else that a key
// might sign.
const checkpointType = "holdfast-checkpoint-v1"

// Signed is what the signature is of: RFC 8785 JSON with the members at, hash,
// key_id, position, tenant_id, type "holdfast-checkpoint-v1" and world_id.
func (c Checkpoint) Signed() []byte {
	text := appendMember(nil, `{"at":`, Time(c.At).String())
	text = appendMember(text, `,"hash":`, c.Hash.String())
	text = appendMember(text, `,"key_id":`, c.KeyID)
	text = append(text, `,"position":`...)
	text = strconv.AppendInt(text, c.Position, 10)
	text = appendMember(text, `,"tenant_id":`, c.Tenant.String())
	text = appendMember(text, `,"type":`, checkpointType)
	text = appendMember(text, `,"world_id":`, c.World)
	return append(text, '}')
}

var errNotSigned = errors.New("the checkpoint's signature is not of this checkpoint by this key")

// Verify holds the signature to a public key, that of KeyID.
func (c Checkpoint) Verify(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, c.Signed(), c.Signature) {
		return errNotSigned
	}
	return nil
}

// ParseCheckpoint reads a checkpoint as the API gives it: a JSON object with
// tenant_id, world_id, position, hash, at, key_id and signature (base64url without
// padding), and nothing that isn't signed.
func ParseCheckpoint(text []byte) (Checkpoint, error) {
	var given struct {
		Tenant    domain.TenantID `json:"tenant_id"`
		World     string          `json:"world_id"`
		Position  int64           `json:"position"`
		Hash      Hash            `json:"hash"`
		At        Time            `json:"at"`
		KeyID     string          `json:"key_id"`
		Signature string          `json:"signature"`
	}
	if err := json.Unmarshal(text, &given, json.RejectUnknownMembers(true)); err != nil {
		return Checkpoint{}, misread("a checkpoint", err)
	}
	signature, err := base64.RawURLEncoding.DecodeString(given.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return Checkpoint{}, errors.New("the signature is not 64 bytes as base64url")
	}
	return Checkpoint{
		Tenant: given.Tenant, World: given.World, Position: given.Position, Hash: given.Hash,
		At: time.Time(given.At), KeyID: given.KeyID, Signature: signature,
	}, nil
}
