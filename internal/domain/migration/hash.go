package migration

import (
	"crypto/sha256"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Hash is that of a canonical packet.
type Hash = domain.Hash

// hashOrNil is a hash as a column, NULL for zero.
func hashOrNil(h Hash) []byte {
	if h.IsZero() {
		return nil
	}
	return h[:]
}

func sum(text []byte) Hash { return sha256.Sum256(text) }
