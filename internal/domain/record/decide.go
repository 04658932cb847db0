package record

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	maxFlushBytes  = 2 << 20                // of bodies that share a transaction; a larger decision goes alone
	decisionWeight = 1 << 10                // bytes that a decision costs beside its bodies
	patience       = 100 * time.Millisecond // behind which a transaction no longer holds up the next
	maxAttempts    = 8                      // at a decision that must be prepared anew
)

// decision is one decision in one collection, under its row's lock. Those of one
// tenant on one database share transactions, across collections.
type decision struct {
	collection ref
	caller     tenancy.Scope
	lease      *lease.Authority // that the caller presents

	// What it looks at.
	keys       []string // records, and who has claimed them
	operations []string // the decision's own comes first
	fences     []string
	batches    []string
	digests    []Digest // of bodies that may be in the store: by who only looks
	bytes      int      // of bodies that it writes to SQL
	bound      bool     // the collection is, to a world

	// decide writes to what is locked, or gives an error for its caller. It may be
	// asked again, in another transaction, and then decides anew.
	decide func(c *locked) error

	refused error // by decide

	// What who only looked has found.
	stands *locked // nil where there is no such collection
	known  knownBodies
}

func (d *decision) weight() int { return decisionWeight + d.bytes }

// errNotStored is what a publication comes to that was prepared for another format.
var errNotStored = errors.New("the collection's bodies belong into the store")

// decide makes a decision, in a transaction that others share.
//
// A transaction is seen through, but no other is begun when ctx is over.
//
// Errors: those of the decision and of Options.StillValid; not found
// collection_not_found; conflict fenced and others by the world's lease; unavailable,
// outcome unknown; ctx's.
func (s *Service) decide(ctx context.Context, d *decision) error {
	caller := ctx
	ctx = context.WithoutCancel(ctx) // decide writes to what its caller will read
	for range maxAttempts {
		if err := caller.Err(); err != nil {
			return err
		}
		err := s.deciding.Do(ctx, s.router.Database(d.collection.number), d.caller.Tenant, d)
		if err == nil {
			err = d.refused
		}
		if !errors.Is(err, lease.ErrUnsettled) {
			return err
		}
		if err := s.settle(ctx, d); err != nil {
			return err
		}
	}
	return errBusy
}

var errBusy = domain.Unavailable("collection_busy",
	"Others are busy with this collection. Nothing was changed; try again.").After(time.Second)

func (s *Service) settle(ctx context.Context, d *decision) error {
	_, err := s.leases.Settle(ctx, d.caller.Tenant, worldOf(d.collection.name))
	return err
}

func (s *Service) decideAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision) error {
	f := newFlush(all)
	return tenancy.Run(ctx, db, s.entry(tenant, f.numbers...), func(ctx context.Context, tx *tenancy.Tx) error {
		f.look(tx, true)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		f.setUp(s.limits, false)
		f.decide(s.valid)
		return f.write(ctx, tx)
	})
}

// flush is the decisions of one transaction, by collection.
type flush struct {
	collections []*turn // in key order
	numbers     []domain.Number
	held        *lease.Held
	now         time.Time
}

// turn are the decisions in one collection, in the order in which they came.
type turn struct {
	ref       ref
	locked    *locked // nil where there is no such collection
	decisions []*decision
}

func newFlush(all []*decision) *flush {
	f := &flush{}
	byName := make(map[ref]*turn, len(all))
	for _, d := range all {
		d.refused = nil
		t := byName[d.collection]
		if t == nil {
			t = &turn{ref: d.collection}
			byName[d.collection] = t
			f.collections = append(f.collections, t)
		}
		t.decisions = append(t.decisions, d)
	}
	slices.SortFunc(f.collections, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.ref.number, b.ref.number), cmp.Compare(a.ref.name, b.ref.name))
	})
	for _, t := range f.collections {
		if n := len(f.numbers); n == 0 || f.numbers[n-1] != t.ref.number {
			f.numbers = append(f.numbers, t.ref.number)
		}
	}
	return f
}

// apart is the decisions of a transaction that only looks, each with a collection to
// itself: what one would do there, none of the others sees.
func apart(all []*decision) *flush {
	f := &flush{}
	for _, d := range all {
		f.collections = append(f.collections, &turn{ref: d.collection, decisions: []*decision{d}})
		f.numbers = append(f.numbers, d.collection.number)
	}
	slices.Sort(f.numbers)
	f.numbers = slices.Compact(f.numbers)
	return f
}

// setUp gives every collection what its decisions need beside it: the clock that
// was read behind the locks, say.
func (f *flush) setUp(limits Limits, rehearsing bool) {
	for _, t := range f.collections {
		if c := t.locked; c != nil {
			c.now, c.held, c.limits, c.rehearsing = f.now.UTC(), f.held, limits, rehearsing
		}
	}
}

// decide has every decision made whose caller's token is still valid, one behind the
// other.
func (f *flush) decide(valid func(tenancy.Scope) error) {
	for _, t := range f.collections {
		for _, d := range t.decisions {
			if d.refused = valid(d.caller); d.refused == nil {
				d.refused = t.decide(d)
			}
		}
	}
}

// made tells that the decision's own operation was made before: then there is only
// its receipt to give, or to refuse, and that takes no lease.
func (d *decision) made(c *locked) bool {
	if len(d.operations) == 0 {
		return false
	}
	_, known := c.receipts[d.operations[0]]
	return known
}

func (t *turn) decide(d *decision) error {
	if t.locked == nil {
		return errNoCollection
	}
	if t.locked.world != "" && !d.made(t.locked) {
		if err := t.locked.held.Admit(t.locked.now, t.locked.world, d.caller, d.lease); err != nil {
			return err
		}
	}
	return d.decide(t.locked)
}
