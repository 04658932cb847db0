package migration

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// walked is how a walk over one collection ended.
type walked string

const (
	walkDrained    walked = "drained"    // nothing is left in the former format
	walkUnresolved walked = "unresolved" // a whole sweep moved nothing, and only what no pass takes is left
	walkHeld       walked = "held"       // the checkpoint is
	walkSpent      walked = "spent"      // the budget is: there is more to do
)

// maxRetries bounds how often one pass is made over when it fails for what may
// pass: a deadlock, another worker, a store that doesn't answer. With the pauses
// between them that is some ten seconds, besides what the store's own tries take.
// Where these take long, patience bounds it: a shift lasts for less than a minute, and
// the next one knows nothing of the tries before.
const (
	maxRetries = 10
	patience   = 15 * time.Second
)

// budget is what a walk may use: it is asked before each pass.
type budget func(ctx context.Context) (caps record.Caps, ok bool)

// walk moves a collection's records, pass by pass, until nothing is left to move
// or the budget is spent. Others are made ready while one commits (line.go).
//
// Errors: those of the store and the databases, after bounded retries; the
// checkpoint then stands at the last pass that committed.
func (s *Service) walk(ctx context.Context, tenant domain.TenantID, number domain.Number, id domain.CollectionID, may budget) (walked, error) {
	retries, begun := int64(0), time.Now()
	for tries := 0; ; tries++ {
		m, err := s.mover(ctx, tenant, number, id)
		if err != nil && !passing(err) {
			return "", err
		}
		before := m.at.Passes
		var ended walked
		if err == nil {
			m.retries = retries
			ended, err = m.sweep(ctx, may)
			retries = m.retries
		}
		switch {
		case errors.Is(err, errHeld):
			return walkHeld, nil
		case ctx.Err() != nil:
			return walkSpent, nil
		case !errors.Is(err, errFenced) && !passing(err):
			return ended, err
		case m.at.Passes > before:
			tries, begun = 0, time.Now() // it got somewhere
		case tries == maxRetries, tries > 0 && time.Since(begun) > patience:
			return "", err
		}
		retries++
		if err := pause(ctx, tries); err != nil {
			return "", err
		}
	}
}

func (s *Service) mover(ctx context.Context, tenant domain.TenantID, number domain.Number, id domain.CollectionID) (*mover, error) {
	m := &mover{Service: s, tenant: tenant}
	e := s.entry(tenant, number)
	e.ReadOnly = true
	err := tenancy.Run(ctx, s.router.Database(number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		queueCheckpoint(tx, sqlReadCheckpoint, number, id, &m.at)
		queueLeftOut(tx, number, id, &m.deferred)
		return nil
	})
	switch {
	case err != nil:
		return m, err
	case m.at.Migration.IsZero():
		return m, errNoCheckpoint
	case m.at.Build != s.build:
		return m, errOtherBuild
	}
	return m, nil
}

// sweep makes passes from the checkpoint on, and further sweeps behind the end of
// one, until there is no more to do.
func (m *mover) sweep(ctx context.Context, may budget) (walked, error) {
	if m.at.Held {
		return "", errHeld
	}
	for {
		var ok bool
		if m.caps, ok = may(ctx); !ok {
			return walkSpent, nil
		}
		through, err := m.passes(ctx, may)
		if err != nil {
			return "", err
		}
		if !through {
			continue // other caps, or no more
		}
		if ended, again, err := m.endSweep(ctx); err != nil || !again {
			return ended, err
		}
	}
}

// passes commits what a line makes ready, and tells whether it went through all that
// was to be inspected.
func (m *mover) passes(ctx context.Context, may budget) (through bool, err error) {
	l := m.begin(ctx, may)
	defer l.end()
	for ready := range l.ready {
		p := <-ready
		switch {
		case p.err != nil:
			err = p.err
		case !p.capture.More:
			through = true
		default:
			err = m.commit(ctx, p)
			l.mark(p, false)
		}
		p.close()
		if err != nil || through {
			return through, err
		}
	}
	return false, nil
}

const sqlLeftInSQL = `
SELECT EXISTS (SELECT FROM sections_in_sql s
                WHERE s.number::integer = $2::smallint::integer AND s.tenant_id = $1 AND s.collection_id = $3)`

// endSweep looks at what is left when all that was to be inspected has been gone
// through: the table decides, and not the end of a cursor. It waits for the disk, and
// so for all passes before it.
func (m *mover) endSweep(ctx context.Context) (ended walked, again bool, err error) {
	fruitless, movable := m.at.SweepMoved == 0 && m.at.Sweep > 1, false
	if fruitless {
		if movable, err = m.movable(ctx); err != nil {
			return "", false, err
		}
	}
	way, next, leftOut := m.at.Kind.direction(), m.at, m.deferred
	next.token = domain.RandomID[domain.TokenKind]()
	err = tenancy.Run(ctx, m.router.Database(m.at.number), m.entry(m.tenant, m.at.number), func(ctx context.Context, tx *tenancy.Tx) error {
		var stands Checkpoint
		var left bool
		var now time.Time
		reread := m.lock(tx)
		queueCheckpoint(tx, sqlLockCheckpoint, m.at.number, m.at.CollectionID, &stands)
		tx.Queue(way.left, int16(m.at.number), m.at.CollectionID).QueryRow(func(row pgx.Row) error { return row.Scan(&left) })
		tx.Queue(way.forget, int16(m.at.number), m.at.CollectionID)
		queueLeftOut(tx, m.at.number, m.at.CollectionID, &m.deferred)
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		if err := m.demandFence(&stands, reread); err != nil {
			return err
		}
		switch {
		case !left:
			ended, next.DrainedAt = walkDrained, now.UTC()
		case fruitless && !movable && !m.released(leftOut):
			ended = walkUnresolved
		default:
			again = true
		}
		next.goTo(record.Cursor{})
		next.SweepMoved = 0
		next.Sweep++
		next.queueMove(tx, &m.at)
		return nil
	})
	return ended, again && err == nil, m.settled(ctx, next, err)
}

// released tells whether a record that the last sweep has left out is no longer: what
// was deferred of it was published anew, or is to be tried again.
func (m *mover) released(leftOut map[string]bool) bool {
	for key := range leftOut {
		if !m.deferred[key] {
			return true
		}
	}
	return false
}

// lock locks the collection's row.
func (m *mover) lock(tx *tenancy.Tx) *record.Reread {
	return m.records.Lock(tx, m.tenant, m.at.Collection, m.at.CollectionID)
}

func pause(ctx context.Context, tries int) error {
	timer := time.NewTimer(10 * time.Millisecond << min(tries, 9))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errOtherBuild = domain.Conflict("build_differs",
	"The collection goes by the plan of another build. Start workers of that build, or requalify for this one.")

var errNoCheckpoint = domain.NotFound("collection_not_migrating", "The collection is no part of an active migration.")
