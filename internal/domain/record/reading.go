package record

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// reading reads a body, or learns that it has no room for it. Those of one tenant on
// one database share transactions.
type reading struct {
	number domain.Number
	room   int64 // bytes

	// queue queues the statement. It may be asked again, for another transaction, and
	// then forgets what the one before gave.
	queue func(tx *tenancy.Tx)
}

// bring makes a reading. One that may bring a large body goes alone: it would hold up
// others, and it ends when its caller goes away. On an error queue's callback may
// still run: what it writes to is nobody's then.
func (s *Service) bring(ctx context.Context, tenant domain.TenantID, r *reading) error {
	db := s.router.Database(r.number)
	if r.room > smallBody {
		return s.bringAll(ctx, db, tenant, []*reading{r})
	}
	return s.reading.Do(ctx, db, tenant, r)
}

func (s *Service) bringAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*reading) error {
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
