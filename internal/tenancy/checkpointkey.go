package tenancy

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// A checkpoint is looked at in years, and so its keys live long.
	rotateCheckpointsEvery = 365 * 24 * time.Hour
	// knownFor is how long the keys are not read again. The next key is published
	// for longer than that before it signs.
	knownFor = time.Minute
)

// CheckpointKeys are the keys that sign checkpoints of journals. They are of their
// own kind: none of them ever signs a token. A public half stays published for good,
// so that a checkpoint can be verified however old it is; a private half is erased
// once it has had two successors.
type CheckpointKeys struct {
	store *Store

	mu     sync.Mutex // one at a time reads
	ring   checkpointRing
	readAt time.Time // zero before the first time
}

// NewCheckpointKeys knows no key yet. The store needs server keys to sign and to
// make keys; without, it publishes what there is.
func NewCheckpointKeys(store *Store) *CheckpointKeys { return &CheckpointKeys{store: store} }

type checkpointKey struct {
	id        string // the RFC 7638 thumbprint of the public half
	public    ed25519.PublicKey
	private   ed25519.PrivateKey // nil when it is erased, or its server key was taken away
	signsFrom time.Time          // until the next one does
}

// checkpointRing is all keys that there have ever been, by signsFrom.
type checkpointRing []checkpointKey

// signer gives the newest key that may sign, or nil.
func (r checkpointRing) signer(now time.Time) *checkpointKey {
	for i := range slices.Backward(r) {
		if k := &r[i]; k.private != nil && !now.Before(k.signsFrom) {
			return k
		}
	}
	return nil
}

// due tells whether another key must be made, and from when it will sign: behind the
// time for which the key set may be cached, unless nothing else can sign meanwhile.
func (r checkpointRing) due(now time.Time) (signsFrom time.Time, due bool) {
	var newest *checkpointKey
	for i := range r {
		if r[i].private != nil {
			newest = &r[i]
		}
	}
	switch {
	case newest == nil:
		return now, true
	case now.Before(newest.signsFrom.Add(rotateCheckpointsEvery)):
		return time.Time{}, false
	default:
		return now.Add(publishAhead), true
	}
}

// CheckpointKey gives the key that signs now, and the id by which its public half is
// published.
//
// Errors: unavailable.
func (k *CheckpointKeys) CheckpointKey(ctx context.Context) (keyID string, key ed25519.PrivateKey, err error) {
	ring, err := k.known(ctx)
	if err != nil {
		return "", nil, err
	}
	signer := ring.signer(k.store.now())
	if signer == nil {
		return "", nil, ErrNoServerKey
	}
	return signer.id, signer.private, nil
}

// JWKS gives every key that has ever signed, and the one to come.
//
// Errors: unavailable.
func (k *CheckpointKeys) JWKS(ctx context.Context) (JWKS, error) {
	ring, err := k.known(ctx)
	set := JWKS{Keys: []JWK{}}
	for _, key := range ring {
		set.Keys = append(set.Keys, JWK{
			KeyType: "OKP", Curve: "Ed25519", Use: "sig", Algorithm: "EdDSA",
			KeyID: key.id, X: base64.RawURLEncoding.EncodeToString(key.public),
		})
	}
	return set, err
}

// known gives the keys as they were a minute ago at most, or for as long as they
// can't be read: a key that was known is never wrong. It makes the next one when
// that is due.
func (k *CheckpointKeys) known(ctx context.Context) (checkpointRing, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.store.now()
	if !k.readAt.IsZero() && now.Sub(k.readAt) < knownFor {
		return k.ring, nil
	}
	ring, err := k.store.checkpointRing(ctx)
	if err == nil && k.store.keys != nil {
		if _, due := ring.due(now); due {
			ring, err = k.store.rotateCheckpoints(ctx)
		}
	}
	if err != nil {
		if k.ring.signer(now) != nil {
			return k.ring, nil
		}
		return nil, err
	}
	k.ring, k.readAt = ring, now
	return ring, nil
}

const sqlCheckpointKeys = `
SELECT kid, public_key, sealed_private, coalesce(server_key_id, ''), signs_from FROM checkpoint_keys ORDER BY signs_from, kid`

func (s *Store) checkpointRing(ctx context.Context) (ring checkpointRing, err error) {
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		ring, err = s.checkpointRingTx(ctx, tx)
		return err
	})
	return ring, err
}

func (s *Store) checkpointRingTx(ctx context.Context, tx pgx.Tx) (checkpointRing, error) {
	rows, _ := tx.Query(ctx, sqlCheckpointKeys)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k checkpointKey, err error) {
		var sealed []byte
		var serverKey string
		if err := row.Scan(&k.id, (*[]byte)(&k.public), &sealed, &serverKey, &k.signsFrom); err != nil || sealed == nil || s.keys == nil {
			return k, err
		}
		// A key that can't be opened is published all the same.
		if seed, err := s.keys.Open(serverKey, sealed, sealedCheckpointKey(k.id)); err == nil && len(seed) == ed25519.SeedSize {
			k.private = ed25519.NewKeyFromSeed(seed)
		}
		return k, nil
	})
}

// sealedCheckpointKey names what is sealed: never what another kind of key is.
func sealedCheckpointKey(id string) string { return "checkpoint/" + id }

const (
	sqlLockCheckpointKeys = `SELECT pg_advisory_xact_lock(checkpoint_keys_lock())`

	sqlAddCheckpointKey = `
INSERT INTO checkpoint_keys (kid, public_key, sealed_private, server_key_id, created_at, signs_from)
VALUES ($1, $2, $3, $4, $5, $6)`

	sqlEraseCheckpointKeys = `
UPDATE checkpoint_keys SET sealed_private = NULL, server_key_id = NULL WHERE signs_from < $1 AND sealed_private IS NOT NULL`
)

// rotateCheckpoints makes the key that is due, unless another process was faster,
// and gives the keys that there are then.
func (s *Store) rotateCheckpoints(ctx context.Context) (ring checkpointRing, err error) {
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockCheckpointKeys); err != nil {
			return err
		}
		if ring, err = s.checkpointRingTx(ctx, tx); err != nil {
			return err
		}
		now := s.now()
		signsFrom, due := ring.due(now)
		if !due {
			return nil
		}
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			return err
		}
		id := thumbprint(public)
		serverKey, sealed := s.keys.Seal(private.Seed(), sealedCheckpointKey(id))
		if _, err := tx.Exec(ctx, sqlAddCheckpointKey, id, []byte(public), sealed, serverKey, now, signsFrom); err != nil {
			return err
		}
		if standing := ring.signer(now); standing != nil { // it signs until the new one does
			if _, err := tx.Exec(ctx, sqlEraseCheckpointKeys, standing.signsFrom); err != nil {
				return err
			}
		}
		ring, err = s.checkpointRingTx(ctx, tx)
		return err
	})
	return ring, err
}
