package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// flush is the decisions of one transaction, by world.
type flush struct {
	tx     *tenancy.Tx
	worlds []*turn // in key order
}

// turn are the decisions on one world, in the order in which they came.
type turn struct {
	ref       worldRef
	locked    *locked // nil while its head isn't ours
	decisions []*decision
	exists    bool
}

// takeTurns groups the decisions by world, in key order.
func takeTurns(all []*decision) (turns []*turn, numbers []domain.Number) {
	byWorld := make(map[worldRef]*turn, len(all))
	for _, d := range all {
		d.refused, d.absent, d.busy = nil, false, false
		t := byWorld[d.world]
		if t == nil {
			t = &turn{ref: d.world}
			byWorld[d.world] = t
			turns = append(turns, t)
		}
		t.decisions = append(t.decisions, d)
	}
	slices.SortFunc(turns, inKeyOrder)
	for _, t := range turns {
		if n := len(numbers); n == 0 || numbers[n-1] != t.ref.number {
			numbers = append(numbers, t.ref.number)
		}
	}
	return turns, numbers
}

func inKeyOrder(a, b *turn) int {
	return cmp.Or(cmp.Compare(a.ref.number, b.ref.number), cmp.Compare(a.ref.id, b.ref.id))
}

// Heads are locked in key order. sqlLockHeads leaves out those that another process
// holds.
const (
	sqlLockHeads     = headsToLock + ` FOR NO KEY UPDATE SKIP LOCKED) w`
	sqlQueueForHeads = headsToLock + ` FOR NO KEY UPDATE) w`
	headsToLock      = `
SELECT p.ordinal, ` + headColumns + `
  FROM unnest($2::smallint[], $3::text[]) WITH ORDINALITY AS p (number, world_id, ordinal)
 CROSS JOIN LATERAL (SELECT w.* FROM worlds w
                      WHERE w.tenant_id = $1 AND w.number = p.number AND w.world_id = p.world_id`

	// sqlWaitLittle bounds how long the transaction waits for a head.
	sqlWaitLittle = `SELECT set_config('lock_timeout', '200ms', true) WHERE $1::uuid IS NOT NULL`
)

const sqlWhichExist = `
SELECT p.ordinal
  FROM unnest($2::smallint[], $3::text[]) WITH ORDINALITY AS p (number, world_id, ordinal)
 CROSS JOIN LATERAL (SELECT w.world_id FROM worlds w
                      WHERE w.tenant_id = $1 AND w.number = p.number AND w.world_id = p.world_id LIMIT 1) w`

// worldColumns are worlds as columns, for unnest.
type worldColumns struct {
	numbers []int16
	ids     []string
	turns   []*turn // by ordinal
}

func (c *worldColumns) add(t *turn) {
	c.numbers = append(c.numbers, int16(t.ref.number))
	c.ids = append(c.ids, t.ref.id)
	c.turns = append(c.turns, t)
}

// look locks the heads, and then reads what the decisions rest on, and the clock.
func (f *flush) look(ctx context.Context, wait bool) error {
	var asked worldColumns
	for _, t := range f.worlds {
		asked.add(t)
	}
	lock := sqlLockHeads
	if wait {
		lock = sqlQueueForHeads
		f.tx.Queue(sqlWaitLittle)
	}
	f.tx.Queue(lock, asked.numbers, asked.ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			w := &locked{known: map[string]knownEntry{}, rejections: map[journal.Actor]*rejection{}}
			if err := scanHead(rows, &w.head, &ordinal); err != nil {
				return err
			}
			t := asked.turns[ordinal-1]
			w.ref, t.locked = t.ref, w
		}
		return rows.Err()
	})
	f.queueKnown()
	var now time.Time
	f.tx.QueueNow(&now)
	if err := f.tx.Send(ctx); err != nil {
		return err
	}
	for _, t := range f.worlds {
		if w := t.locked; w != nil {
			w.now = later(now.UTC(), w.LastAt) // the clock may have been set back
		}
	}
	return f.lookBeside(ctx)
}

// lookBeside reads what few decisions need: whether the worlds that were not locked
// exist, rejections that are counted, the waiting line.
func (f *flush) lookBeside(ctx context.Context) error {
	var missing, rejected, awaited worldColumns
	for _, t := range f.worlds {
		switch w := t.locked; {
		case w == nil:
			missing.add(t)
			continue
		case w.rejected:
			rejected.add(t)
		}
		if t.locked.awaited && slices.ContainsFunc(t.decisions, func(d *decision) bool { return d.line }) {
			awaited.add(t)
		}
	}
	if c := &missing; len(c.turns) > 0 {
		f.tx.Queue(sqlWhichExist, c.numbers, c.ids).Query(func(rows pgx.Rows) error {
			var ordinal int64
			_, err := pgx.ForEachRow(rows, []any{&ordinal}, func() error {
				c.turns[ordinal-1].exists = true
				return nil
			})
			return err
		})
	}
	if c := &rejected; len(c.turns) > 0 {
		f.tx.Queue(sqlReadRejections, c.numbers, c.ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var ordinal int64
				caller, r, err := scanRejection(rows, &ordinal)
				if err != nil {
					return err
				}
				c.turns[ordinal-1].locked.rejections[caller] = &r
			}
			return rows.Err()
		})
	}
	if c := &awaited; len(c.turns) > 0 {
		f.tx.Queue(sqlReadLines, c.numbers, c.ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var ordinal int64
				waiting, err := scanWaiter(rows, &ordinal)
				if err != nil {
					return err
				}
				w := c.turns[ordinal-1].locked
				w.waiters = append(w.waiters, waiting)
			}
			return rows.Err()
		})
	}
	return f.tx.Send(ctx)
}

// decide has every decision made, and queues what they wrote. It gives the worlds
// whose journals grew.
func (f *flush) decide() (told []*locked, err error) {
	var all writes
	for _, t := range f.worlds {
		t.decide()
		w := t.locked
		if w != nil && w.fault != nil {
			return nil, fmt.Errorf("a decision breaks the journal's rules: %w", w.fault)
		}
		if w == nil || !w.changed && len(w.entries) == 0 {
			continue
		}
		all.add(w)
		w.queueRejections(f.tx)
		w.queueLine(f.tx)
		for _, queue := range w.beside {
			queue(f.tx)
		}
		if len(w.entries) > 0 {
			told = append(told, w)
		}
	}
	all.queue(f.tx)
	return told, nil
}

// writes are what decisions wrote: entries and the heads behind them.
type writes struct {
	heads   headColumnsOf
	entries entryColumnsOf
}

func (c *writes) add(w *locked) {
	c.heads.add(&w.head)
	for i := range w.entries {
		c.entries.add(w.ref, &w.entries[i])
	}
}

func (c *writes) queue(tx *tenancy.Tx) {
	if len(c.entries.worlds) > 0 {
		c.entries.queue(tx)
	}
	if len(c.heads.ids) > 0 {
		c.heads.queue(tx)
	}
}

// decide makes the decisions on one world, one behind the other.
func (t *turn) decide() {
	if t.locked == nil || t.locked.Retired {
		for _, d := range t.decisions {
			d.absent, d.busy = t.locked != nil || !t.exists, t.locked == nil && t.exists
		}
		return
	}
	t.locked.settle()
	for _, d := range t.decisions {
		if d.absent = t.locked.Retired; !d.absent { // by the one before
			d.refused = d.decide(t.locked)
		}
	}
	t.locked.tidyLine()
}
