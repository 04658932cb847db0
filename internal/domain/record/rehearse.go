package record

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// rehearse has a decision made on what stands now, without locks, and writes
// nothing: what it refuses here, and what it finds to be done already, is refused
// and done. It gives the collection. As decide, it ends with ctx between its attempts.
func (s *Service) rehearse(ctx context.Context, d *decision) (*locked, error) {
	caller := ctx
	ctx = context.WithoutCancel(ctx) // decide writes to what its caller will read
	for range maxAttempts {
		if err := caller.Err(); err != nil {
			return nil, err
		}
		if err := s.looking.Do(ctx, s.router.Database(d.collection.number), d.caller.Tenant, d); err != nil {
			return nil, err
		}
		if c := d.stands; !errors.Is(d.refused, lease.ErrUnsettled) {
			d.bound = c != nil && c.world != ""
			return c, d.refused
		}
		if err := s.settle(ctx, d); err != nil {
			return nil, err
		}
	}
	return nil, errBusy
}

// lookAt reads what a decision would look at.
func (s *Service) lookAt(ctx context.Context, scope tenancy.Scope, collection string, d decision) (*locked, error) {
	ref, err := refOf(collection)
	if err != nil {
		return nil, errNoCollection
	}
	d.collection, d.caller = ref, scope
	if err := s.looking.Do(ctx, s.router.Database(ref.number), scope.Tenant, &d); err != nil {
		return nil, err // d may still be written to, for a caller that went away
	}
	if d.stands == nil {
		return nil, errNoCollection
	}
	return d.stands, nil
}

// lookAll looks at what decisions rest on, in a transaction that they share, and has
// those made that are to be made.
func (s *Service) lookAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision) error {
	f := apart(all)
	e := s.entry(tenant, f.numbers...)
	e.ReadOnly = true
	err := tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		f.look(tx, false)
		return nil
	})
	if err != nil {
		return err
	}
	f.setUp(s.limits, true)
	for i, t := range f.collections {
		d := all[i]
		d.stands, d.refused = t.locked, nil
		if d.decide != nil {
			d.refused = t.decide(d)
		}
	}
	return nil
}
