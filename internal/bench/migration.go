package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// MigrationOptions of a run.
type MigrationOptions struct {
	Environ []string // the stack's settings
	Records int      // to move, in tenths
	Length  time.Duration
	Profile string // a folder for profiles of the worker, of CPU and of allocations; "" for none
	Log     io.Writer
	Note    func(format string, args ...any)
}

const (
	movers       = 4 // bodies under way at once, in a pass and in the bare loop
	tenths       = 10
	leastToMove  = 5_000 // records: a tenth of fewer is too short to be timed
	memoryToMove = 64 << 20
)

func (o MigrationOptions) verify() error {
	if o.Records < leastToMove {
		return fmt.Errorf("%d records are too few to be timed in tenths: take %d at least", o.Records, leastToMove)
	}
	return Options{Rounds: 1, Length: o.Length}.verify()
}

// Migration measures the move of a tenant's bodies from the database into the object
// store, as an operator has it made: by a plan, approved by another, and the worker.
// The migration is paused behind each tenth of the records, and the bare loop has the
// machine before it and behind it.
func Migration(ctx context.Context, o MigrationOptions) (outcomes []Outcome, err error) {
	if err := o.verify(); err != nil {
		return nil, err
	}
	settings, err := storeSettings(o.Environ)
	if err != nil {
		return nil, err
	}
	s, err := newStack(ctx, o.Environ, manyCallers, o.Log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	store, err := openReferenceStore(ctx, settings, movers)
	if err != nil {
		return nil, err
	}
	// What is left in the bucket would have to be paid for. Of the qualification some
	// two dozen bodies stay, as of every one.
	defer func() {
		ctx := context.WithoutCancel(ctx)
		o.Note("deleting the objects")
		err = errors.Join(err, store.empty(ctx, store.prefix), store.empty(ctx, "tenants/"+s.tenantID+"/"), store.bucket.Close())
	}()
	worker, err := observe(ctx, "worker", o.Log)
	if err != nil {
		return nil, err
	}
	defer worker.Stop()
	m, err := s.newMove(o, worker)
	if err != nil {
		return nil, err
	}
	if err := m.fill(ctx); err != nil {
		return nil, err
	}
	if err := m.activate(ctx); err != nil {
		return nil, err
	}
	times, cost, err := m.inTenths(ctx, store.write(movers, bodySize))
	if err != nil {
		return nil, err
	}
	return times.outcomes(cost), nil
}

// fill publishes the records that are to be moved, by fifties.
func (m *move) fill(ctx context.Context) error {
	made, err := m.makeCollections(ctx, 1, "moved")
	if err != nil {
		return err
	}
	m.of = made[0]
	for i := range tenths {
		m.Note("publishing %d records: %d are there", m.Records, m.upTo(i))
		// A token lives a quarter of an hour.
		if err := m.tenant.logIn(ctx, m.key); err != nil {
			return err
		}
		if err := m.publishBy(ctx, m.upTo(i+1)-m.upTo(i)); err != nil {
			return err
		}
	}
	return nil
}

// upTo is how many records are in the first tenths.
func (m *move) upTo(n int) int { return m.Records * n / tenths }

func (m *move) publishBy(ctx context.Context, records int) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range newPublishers(manyCallers, bodySize) {
		group.Go(func() error {
			for left := records*(i+1)/manyCallers - records*i/manyCallers; left > 0; left -= manySize {
				n := min(left, manySize)
				answer, err := m.tenant.send(ctx, m.of.path()+"/publish", mediaJSON, p.many(n), http.StatusOK)
				if err == nil {
					err = demandPublished(answer, n)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
