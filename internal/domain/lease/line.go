package lease

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// waitsFor is how long a waiter that has not been heard of stays in line. Its
// process moves it on about every third of that.
const waitsFor = 3 * time.Second

// waiter stands in a world's line, first come, first served.
type waiter struct {
	caller     journal.Actor
	requestID  string
	ticket     int64 // its place: tickets grow
	term       time.Duration
	replay     time.Duration // from the handoff to the activation
	aliveUntil time.Time

	changed bool
	gone    bool // to be removed
}

func (w *waiter) is(caller journal.Actor, requestID string) bool {
	return w.caller == caller && w.requestID == requestID
}

// first gives the first in line that is still there, or nil. Those before it have
// gone, and leave.
func (w *locked) first() *waiter {
	slices.SortFunc(w.waiters, func(a, b waiter) int { return cmp.Compare(a.ticket, b.ticket) })
	for i := range w.waiters {
		waiting := &w.waiters[i]
		if waiting.gone {
			continue
		}
		if w.now.Before(waiting.aliveUntil) {
			return waiting
		}
		waiting.gone, w.changed = true, true
	}
	return nil
}

// maxWaiters bounds a world's line.
const maxWaiters = 1000

var errLineFull = domain.Conflict("line_full", "A thousand callers stand in line for this lease already. Try again later.").After(10 * time.Second)

// standInLine keeps the caller's place, or gives it one at the end. It tells whether
// there was room. A waiter that was heard of lately is not written anew.
func (w *locked) standInLine(asked waiter) bool {
	asked.aliveUntil, asked.changed, asked.ticket = w.now.Add(waitsFor), true, 1
	standing := 0
	for i := range w.waiters {
		waiting := &w.waiters[i]
		asked.ticket = max(asked.ticket, waiting.ticket+1)
		if waiting.gone {
			continue
		}
		if !waiting.is(asked.caller, asked.requestID) {
			standing++
			continue
		}
		asked.ticket = waiting.ticket
		*waiting = asked
		w.awaited, w.changed = true, true
		return true
	}
	if standing >= maxWaiters {
		return false
	}
	w.waiters = append(w.waiters, asked)
	w.awaited, w.changed = true, true
	return true
}

// leaveLine takes the caller out of the line, if it stands there.
func (w *locked) leaveLine(caller journal.Actor, requestID string) {
	for i := range w.waiters {
		if waiting := &w.waiters[i]; waiting.is(caller, requestID) {
			waiting.gone, w.changed = true, true
		}
	}
}

// tidyLine takes those out of the line who have gone, wherever they stood: behind one
// who waits for long, nobody else would. It tells the head whether anybody is left.
func (w *locked) tidyLine() {
	left := false
	for i := range w.waiters {
		waiting := &w.waiters[i]
		if !waiting.gone && !w.now.Before(waiting.aliveUntil) {
			waiting.gone, w.changed = true, true
		}
		left = left || !waiting.gone
	}
	if len(w.waiters) > 0 && !left {
		w.awaited, w.changed = false, true
	}
}

const sqlReadLines = `
SELECT p.ordinal, l.actor_issuer, l.actor_subject, l.request_id, l.ticket, l.term_seconds, l.activate_seconds, l.alive_until
  FROM unnest($2::smallint[], $3::text[]) WITH ORDINALITY AS p (number, world_id, ordinal)
 CROSS JOIN LATERAL (SELECT l.* FROM lease_waiters l
                      WHERE l.tenant_id = $1 AND l.number = p.number AND l.world_id = p.world_id OFFSET 0) l`

func scanWaiter(row pgx.CollectableRow, ordinal *int64) (w waiter, err error) {
	w.caller.Type = journal.ActorPrincipal
	var term, replay int64
	err = row.Scan(ordinal, &w.caller.Issuer, &w.caller.Subject, &w.requestID, &w.ticket, &term, &replay, &w.aliveUntil)
	w.term, w.replay = time.Duration(term)*time.Second, time.Duration(replay)*time.Second
	return w, err
}

const sqlWriteWaiter = `
INSERT INTO lease_waiters (tenant_id, number, world_id, actor_issuer, actor_subject, request_id,
                           ticket, term_seconds, activate_seconds, alive_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (tenant_id, number, world_id, actor_issuer, actor_subject, request_id) DO UPDATE
   SET ticket = excluded.ticket, term_seconds = excluded.term_seconds, activate_seconds = excluded.activate_seconds,
       alive_until = excluded.alive_until`

const sqlRemoveWaiter = `
DELETE FROM lease_waiters
 WHERE tenant_id = $1 AND number = $2 AND world_id = $3 AND actor_issuer = $4 AND actor_subject = $5 AND request_id = $6`

func (w *locked) queueLine(tx *tenancy.Tx) {
	number, world := int16(w.ref.number), w.ref.id
	for _, l := range w.waiters {
		switch {
		case l.gone:
			tx.Queue(sqlRemoveWaiter, number, world, l.caller.Issuer, l.caller.Subject, l.requestID)
		case l.changed:
			tx.Queue(sqlWriteWaiter, number, world, l.caller.Issuer, l.caller.Subject, l.requestID,
				l.ticket, int64(l.term/time.Second), int64(l.replay/time.Second), l.aliveUntil)
		}
	}
}

// inOrder walks a map by issuer and subject, so that what is written is written in
// one order.
func inOrder[V any](m map[journal.Actor]V) iter.Seq2[journal.Actor, V] {
	return func(yield func(journal.Actor, V) bool) {
		keys := slices.SortedFunc(maps.Keys(m), func(a, b journal.Actor) int {
			return cmp.Or(cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.Subject, b.Subject))
		})
		for _, key := range keys {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
