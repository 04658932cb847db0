package lease

import (
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// backlog bounds the entries that wait to be written, by tenant and database, so
// that a slow database costs its callers an error and not this process its memory.
type backlog struct {
	mu    sync.Mutex
	bytes map[backlogKey]int
}

type backlogKey struct {
	db     *postgres.Database
	tenant domain.TenantID
}

func newBacklog() *backlog { return &backlog{bytes: map[backlogKey]int{}} }

// entryWeight is about what an entry takes beside its payload, in bytes: else those
// without any could wait without number, and fill a transaction.
const entryWeight = 256

var errOverloaded = domain.Unavailable("overloaded",
	"Too much of this tenant is waiting to be written. Nothing was changed; try again.").After(time.Second)

// enter makes room for so many bytes, which leave gives back.
func (b *backlog) enter(db *postgres.Database, tenant domain.TenantID, bytes int) (leave func(), err error) {
	key := backlogKey{db, tenant}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes[key]+bytes > maxWaitedBytes {
		return nil, errOverloaded
	}
	b.bytes[key] += bytes
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.bytes[key] -= bytes; b.bytes[key] == 0 {
			delete(b.bytes, key)
		}
	}, nil
}
