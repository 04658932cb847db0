package record

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Census counts what a check has looked at.
type Census struct {
	Collections int64 `json:"collections"`
	Records     int64 `json:"records"`
	Live        int64 `json:"live"` // sections
	Tombstones  int64 `json:"tombstones"`
	Bodies      int64 `json:"bodies"` // that read back as their digests
	Bytes       int64 `json:"bytes"`  // of these
	Fences      int64 `json:"fences"`
	Batches     int64 `json:"batches"`
	Claims      int64 `json:"claims"`
	Receipts    int64 `json:"receipts"`
	Violations  int64 `json:"violations"`
	Unreachable int64 `json:"unreachable"` // bodies that nobody could read, which are no violations
}

func (c *Census) add(o Census) {
	c.Collections += o.Collections
	c.Records += o.Records
	c.Live += o.Live
	c.Tombstones += o.Tombstones
	c.Bodies += o.Bodies
	c.Bytes += o.Bytes
	c.Fences += o.Fences
	c.Batches += o.Batches
	c.Claims += o.Claims
	c.Receipts += o.Receipts
	c.Violations += o.Violations
	c.Unreachable += o.Unreachable
}

// Checking says what a check looks at, and whom it tells.
type Checking struct {
	Collection string                // "" for all, and for rows that are of none
	Bodies     bool                  // read every live one
	Found      func(Violation) error // what it returns stops the check
	Progress   func(Census)          // so far; nil for none
}

// Check holds a tenant's records to what must be true of them, and tells each
// violation that it finds. Neither of the functions is called twice at once.
//
// It reads only, a bounded page at a time, each in a transaction of its own, and
// also of a tenant that is suspended. Traffic may go on: what is held to each other
// is read in one statement, and so is of one moment, or else in an order in which no
// honest state looks wrong. A body whose object can't be had counts only if its
// section is still the same then.
//
// Errors: Found's; not found collection_not_found; conflict object_store_missing
// where bodies are in a store that the process doesn't have; forbidden for a tenant
// that is closed; unavailable, also when too many bodies are unreachable.
func (s *Service) Check(ctx context.Context, tenant domain.TenantID, c Checking) (Census, error) {
	i := &inspection{s: s, tenant: tenant, Checking: c, room: semaphore.NewWeighted(s.memory.total)}
	var err error
	if c.Collection != "" {
		err = i.one(ctx)
	} else {
		err = i.all(ctx)
	}
	return i.census, err
}

// inspection is one look at a tenant.
type inspection struct {
	s      *Service
	tenant domain.TenantID
	Checking
	room *semaphore.Weighted // bytes of objects that are read at once

	mu     sync.Mutex
	census Census
}

// all looks at every database, side by side.
func (i *inspection) all(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, db := range i.s.router.Databases() {
		if len(db.Numbers) == 0 {
			continue
		}
		group.Go(func() error {
			if err := i.places(ctx, db); err != nil {
				return err
			}
			return i.collections(ctx, db)
		})
	}
	return group.Wait()
}

// one looks at one collection.
func (i *inspection) one(ctx context.Context) error {
	ref, err := refOf(i.Collection)
	if err != nil {
		return errNoCollection
	}
	db := i.s.router.Database(ref.number)
	found, err := i.collection(ctx, db, ref)
	if err != nil {
		return err
	}
	return i.judge(ctx, db, found)
}

// tell counts and passes on a violation.
func (i *inspection) tell(v Violation) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if v.Kind == BodyUnreachable {
		i.census.Unreachable++
	} else {
		i.census.Violations++
	}
	return i.Found(v)
}

func (i *inspection) tellAll(all []Violation) error {
	for _, v := range all {
		if err := i.tell(v); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspection) count(c Census) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.census.add(c)
	if i.Progress != nil {
		i.Progress(i.census)
	}
}

// checkPage is how many rows, or records, are read at once. With the receipts of
// a few of them, and the bodies that are read at once, it bounds a check's memory.
const checkPage = 200

// read makes a transaction that looks.
func (i *inspection) read(ctx context.Context, db *postgres.Database, numbers []domain.Number, queue func(tx *tenancy.Tx)) error {
	e := tenancy.Entry{Tenant: i.tenant, Numbers: numbers, Purpose: tenancy.Export, ReadOnly: true}
	return tenancy.Run(ctx, db, e, func(_ context.Context, tx *tenancy.Tx) error {
		queue(tx)
		return nil
	})
}
