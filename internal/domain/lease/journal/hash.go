package journal

import (
	"crypto/sha256"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Hash is that of an entry, or of a chain of them.
type Hash = domain.Hash

// Root is hash(0), before the first entry. It names tenant and world, so no two
// worlds have an entry's hash in common.
func Root(tenant domain.TenantID, world string) Hash {
	return sha256.Sum256([]byte("holdfast-journal-v1\n" + tenant.String() + "\n" + world + "\n"))
}
