package record

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// reading is a look at what stands, in one number and without locks. Small ones of
// one tenant on one database share transactions. Each statement sees what was
// committed when it began; those of one reading run in their order.
type reading struct {
	number domain.Number
	bytes  int64 // of bodies that it brings at most

	// queue queues the statements. It may be asked again, for another transaction,
	// and then forgets what the one before gave.
	queue func(tx *tenancy.Tx)
}

// look makes a reading. One that may bring a large body goes alone: it would hold
// up others, and ends when its caller goes away. On an error the callbacks of what
// was queued may still run: what they write to is nobody's then.
func (s *Service) look(ctx context.Context, tenant domain.TenantID, r *reading) error {
	db := s.router.Database(r.number)
	if r.bytes > smallBody {
		return s.lookAll(ctx, db, tenant, []*reading{r})
	}
	return s.reading.Do(ctx, db, tenant, r)
}

func (s *Service) lookAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*reading) error {
	numbers := make([]domain.Number, len(all))
	for i, r := range all {
		numbers[i] = r.number
	}
	slices.Sort(numbers)
	e := s.entry(tenant, slices.Compact(numbers)...)
	e.ReadOnly = true
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		for _, r := range all {
			r.queue(tx)
		}
		return nil
	})
}
