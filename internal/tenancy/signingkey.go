package tenancy

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A signing key goes through three spans of time. From when it is made to
// signsFrom it is only published, so that everybody who caches the key set knows
// it before they meet it. Then it signs, until the next key does. And until
// verifiesUntil its tokens are accepted, which is past the end of the last one.

const (
	rotateEvery = 30 * 24 * time.Hour
	// publishAhead is longer than the key set may be cached, by enough for a
	// process that polls late or whose clock is off.
	publishAhead = JWKSMaxAge + 5*time.Minute
	// rotationGrace is how late the next key may be. Past it, all processes were
	// away, and the next key signs at once.
	rotationGrace = 24 * time.Hour
)

type signingKey struct {
	id            string // the RFC 7638 thumbprint of the public half
	public        ed25519.PublicKey
	private       ed25519.PrivateKey // nil when its server key was taken away
	signsFrom     time.Time
	signsUntil    time.Time
	verifiesUntil time.Time
}

// keyring is all signing keys that there are, by signsFrom. It never changes.
type keyring struct {
	keys        []signingKey
	rotateEvery time.Duration
}

// signer gives the newest key that may sign, or nil.
func (r keyring) signer(now time.Time) *signingKey {
	for i := range slices.Backward(r.keys) {
		k := &r.keys[i]
		if k.private != nil && !now.Before(k.signsFrom) && now.Before(k.signsUntil) {
			return k
		}
	}
	return nil
}

// verifier gives the key of an id if its tokens may still be in use, or nil.
func (r keyring) verifier(id string, now time.Time) *signingKey {
	for i := range r.keys {
		if k := &r.keys[i]; k.id == id && now.Before(k.verifiesUntil) {
			return k
		}
	}
	return nil
}

// due tells whether another key must be made, and from when it will sign.
func (r keyring) due(now time.Time) (signsFrom time.Time, due bool) {
	var newest *signingKey
	for i := range r.keys {
		if r.keys[i].private != nil {
			newest = &r.keys[i]
		}
	}
	switch {
	case newest == nil || !now.Before(newest.signsUntil):
		return now, true // there is none whose last tokens the new one could wait for
	case now.Before(newest.signsFrom.Add(r.rotateEvery)):
		return time.Time{}, false
	default:
		return now.Add(publishAhead), true
	}
}

// newSigningKey makes a key that signs from then on.
func newSigningKey(signsFrom time.Time, every time.Duration) signingKey {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed)
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	signsUntil := signsFrom.Add(every + rotationGrace)
	return signingKey{
		id:            thumbprint(public),
		public:        public,
		private:       private,
		signsFrom:     signsFrom,
		signsUntil:    signsUntil,
		verifiesUntil: signsUntil.Add(tokenLifetime + tokenLeeway),
	}
}

// thumbprint is the key's RFC 7638 thumbprint, over the members that RFC 8037
// requires of an OKP key, in their order.
func thumbprint(public ed25519.PublicKey) string {
	x := base64.RawURLEncoding.EncodeToString(public)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const sqlSigningKeys = `
SELECT kid, public_key, sealed_private, server_key_id, signs_from, signs_until, verifies_until
  FROM signing_keys ORDER BY signs_from, kid`

// keyringTx reads the signing keys.
func (s *Store) keyringTx(ctx context.Context, tx pgx.Tx, every time.Duration) (keyring, error) {
	rows, _ := tx.Query(ctx, sqlSigningKeys)
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k signingKey, err error) {
		var sealed []byte
		var serverKey string
		err = row.Scan(&k.id, (*[]byte)(&k.public), &sealed, &serverKey, &k.signsFrom, &k.signsUntil, &k.verifiesUntil)
		if err != nil {
			return k, err
		}
		// A key that can't be opened verifies all the same.
		if seed, err := s.keys.Open(serverKey, sealed, k.id); err == nil && len(seed) == ed25519.SeedSize {
			k.private = ed25519.NewKeyFromSeed(seed)
		}
		return k, nil
	})
	return keyring{keys, every}, err
}

const sqlForgetSigningKeys = `DELETE FROM signing_keys WHERE verifies_until < $1`

const sqlAddSigningKey = `
INSERT INTO signing_keys (kid, public_key, sealed_private, server_key_id, created_at, signs_from, signs_until, verifies_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// rotate makes the key that is due, unless another process was faster, and gives
// the keys that there are then.
func (s *Store) rotate(ctx context.Context, every time.Duration) (ring keyring, err error) {
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlLockInstallation); err != nil {
			return err
		}
		if ring, err = s.keyringTx(ctx, tx, every); err != nil {
			return err
		}
		now := s.now()
		signsFrom, due := ring.due(now)
		if !due {
			return nil
		}
		k := newSigningKey(signsFrom, every)
		serverKey, sealed := s.keys.Seal(k.private.Seed(), k.id)
		_, err := tx.Exec(ctx, sqlAddSigningKey, k.id, []byte(k.public), sealed, serverKey, now, k.signsFrom, k.signsUntil, k.verifiesUntil)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlForgetSigningKeys, now); err != nil {
			return err
		}
		ring, err = s.keyringTx(ctx, tx, every)
		return err
	})
	return ring, err
}
