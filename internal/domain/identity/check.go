package identity

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Check holds everything that the databases have of a tenant against what must
// be true of it, and tells each violation that it finds. found is never called
// twice at once. It reads only, a bounded page at a time, each in a transaction
// of its own, and also of a tenant that is suspended or still importing.
//
// Traffic may go on. What one statement reads is of one moment, and what takes
// two is read in an order in which the protocol allows no honest state to look
// wrong: a claim stands before its record has the key, and until the record no
// longer has it, and the same for a link and its device. So a record that has
// the key when it is read, and has it still when it is read again, must have its
// claim in between. No operation need be waited for.
//
// Errors: found's; forbidden for a tenant that is closed, or whose layout is not
// served; unavailable.
func (s *Service) Check(ctx context.Context, tenant domain.TenantID, found func(Violation) error) (Census, error) {
	i := s.newInspection(tenant, found)
	if err := i.all(ctx); err != nil {
		return Census{}, err
	}
	return i.census(), nil
}

// clockMargin is more than the clocks of two databases differ by. A key that
// ends by itself is not looked at within it.
const clockMargin = time.Minute

// inspection is one look at all of a tenant.
type inspection struct {
	s       *Service
	tenant  domain.TenantID
	purpose tenancy.Purpose
	page    int                           // rows that are read at once
	digests [domain.Numbers]recordDigests // each written by its own run's goroutine

	mu    sync.Mutex
	found func(Violation) error
	tally tally
}

func (s *Service) newInspection(tenant domain.TenantID, found func(Violation) error) *inspection {
	return &inspection{s: s, tenant: tenant, purpose: tenancy.Export, page: checkPage, found: found, tally: newTally()}
}

// all looks at every database, side by side.
func (i *inspection) all(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, db := range i.s.router.Databases() {
		group.Go(func() error { return i.database(ctx, db) })
	}
	return group.Wait()
}

// database looks at what is on one database, a run of numbers after the other.
func (i *inspection) database(ctx context.Context, db *postgres.Database) error {
	if err := i.strays(ctx, db); err != nil {
		return err
	}
	for at := 0; at < len(db.Numbers); {
		_, last := i.s.run(db.Numbers[at])
		r := &inspectedRun{inspection: i, db: db, first: db.Numbers[at], last: last}
		for _, look := range []func(context.Context) error{r.accounts, r.devices, r.claims, r.operations, r.changes, r.links, r.streams} {
			if err := look(ctx); err != nil {
				return err
			}
		}
		at += int(last-r.first) + 1
	}
	return nil
}

// inspectedRun is a run of numbers of one database.
type inspectedRun struct {
	*inspection
	db          *postgres.Database
	first, last domain.Number
}

// entry is a reading transaction in the numbers given, all of one database.
func (i *inspection) entry(numbers []int16) tenancy.Entry {
	return tenancy.Entry{Tenant: i.tenant, Numbers: distinct(numbers), Purpose: i.purpose, Layout: domain.Layout, ReadOnly: true}
}

// tell counts and passes on a violation.
func (i *inspection) tell(v Violation) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tally.violations++
	return i.found(v)
}

// count changes the tally.
func (i *inspection) count(change func(*tally)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.tally)
}

// read reads records with the operations beside them, side by side on their
// databases.
func (i *inspection) read(ctx context.Context, all []*reading) error {
	home := func(r *reading) *postgres.Database { return i.s.router.Database(r.record.Number) }
	return onDatabases(all, home, func(db *postgres.Database, some []*reading) error {
		numbers, _, _ := refColumns(some)
		var now time.Time
		err := tenancy.Run(ctx, db, i.entry(numbers), func(_ context.Context, tx *tenancy.Tx) error {
			queueOperations(tx, some)
			tx.QueueNow(&now)
			queueRecords(tx, some)
			return nil
		})
		for _, r := range some {
			r.now = now
		}
		return err
	})
}

// resolve reads the claims of keys, side by side on their databases.
func (i *inspection) resolve(ctx context.Context, all []*resolving) error {
	home := func(r *resolving) *postgres.Database { return i.s.router.Database(r.link.Number) }
	return onDatabases(all, home, func(db *postgres.Database, some []*resolving) error {
		var numbers []int16
		for _, r := range some {
			numbers = append(numbers, int16(r.link.Number))
		}
		return tenancy.Run(ctx, db, i.entry(numbers), func(_ context.Context, tx *tenancy.Tx) error {
			queueResolving(tx, some)
			return nil
		})
	})
}
