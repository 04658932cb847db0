package migration

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// errFenced is what a pass comes to when another worker has committed since its
// checkpoint was read, or the checkpoint is held: it starts over, or ends.
var (
	errFenced = errors.New("the checkpoint has moved")
	errHeld   = errors.New("the checkpoint is held")
)

// mover makes passes over one collection, from the checkpoint that it read.
type mover struct {
	*Service
	tenant   domain.TenantID
	at       Checkpoint
	caps     record.Caps
	deferred map[string]bool // keys that are left out
	retries  int64           // that no committed pass has counted yet
}

// commit moves what was prepared, if all of it still is as it was captured, and
// the checkpoint with it.
//
// It doesn't wait for the disk: a crash of the database may take the last passes
// back, each with its checkpoint, to rows whose bodies are the same and to objects
// that nothing refers to, and they are made again. Whatever commits behind a pass
// and does wait has the pass made durable too. So is a pause, and the end of a
// sweep (walk.go), on which a migration's being drained rests.
func (m *mover) commit(ctx context.Context, p *prepared) error {
	next := m.at
	next.token = domain.RandomID[domain.TokenKind]()
	e := m.entry(m.tenant, m.at.number)
	e.Unsynced = true
	err := tenancy.Run(ctx, m.router.Database(m.at.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		var stands Checkpoint
		var now time.Time
		reread := p.capture.QueueReread(tx, p.Sound)
		queueCheckpoint(tx, sqlLockCheckpoint, m.at.number, m.at.CollectionID, &stands)
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		if err := m.demandFence(&stands, reread); err != nil {
			return err
		}
		same := reread.Unchanged()
		if err := reread.Move(ctx, tx, same); err != nil {
			return err
		}
		queueDefects(tx, &m.at, p.Defects, now)
		next.pass(p, same, now)
		next.Retries += m.retries
		next.queueMove(tx, &m.at)
		return nil
	})
	return m.settled(ctx, next, err)
}

// demandFence holds what stands under the locks to what the pass was made from.
func (m *mover) demandFence(stands *Checkpoint, reread *record.Reread) error {
	switch {
	case stands.Held:
		return errHeld
	case stands.token != m.at.token, stands.PlanHash != m.at.PlanHash, stands.Build != m.build, reread.Format() != m.at.Kind.direction().to:
		return errFenced
	}
	return nil
}

// pass counts a pass in.
func (c *Checkpoint) pass(p *prepared, moved []*record.Captured, now time.Time) {
	c.goTo(p.capture.After)
	c.Passes++
	c.Inspected += int64(p.capture.Inspected)
	c.Moved += int64(len(moved))
	c.SweepMoved += int64(len(moved))
	c.Raced += int64(len(p.Sound) - len(moved))
	for _, r := range moved {
		for _, section := range r.Sections {
			if section.Live {
				c.Bodies++
				c.Bytes += section.Length
			}
		}
	}
	c.Uploads += int64(p.Uploads)
	c.Reuses += int64(p.Reuses)
	c.MovedAt = now.UTC()
}

// settled takes in how a commit went. An unknown outcome is looked up by the token
// that the transaction drew.
func (m *mover) settled(ctx context.Context, next Checkpoint, err error) error {
	if domain.KindOf(err) == domain.KindOutcomeUnknown {
		stands, read := m.read(ctx, m.tenant, m.at.number, m.at.CollectionID)
		switch {
		case read != nil:
			return read
		case stands.token == next.token:
			err = nil
		default:
			err = errFenced
		}
	}
	switch {
	case err == nil:
		m.metrics.committed(ctx, &m.at, &next)
		m.at, m.retries = next, 0
	case errors.Is(err, errFenced):
		m.metrics.lost(ctx, &m.at)
	}
	return err
}
