package lease

import (
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Held are worlds whose heads a transaction of another domain has locked, so that
// who may write there stays as it is until the transaction ends.
type Held struct{ worlds map[string]*locked }

const sqlReadHeads = headsToLock + ` LIMIT 1) w`

// Hold queues the locks of worlds' heads, in key order. All worlds must be in the
// transaction's numbers; one that isn't there is not held.
func Hold(tx *tenancy.Tx, worlds []string) *Held { return queueHeads(tx, sqlQueueForHeads, worlds) }

// Look queues a read of worlds' heads, for who wants to know what Hold would
// find. It promises nothing for later.
func Look(tx *tenancy.Tx, worlds []string) *Held { return queueHeads(tx, sqlReadHeads, worlds) }

func queueHeads(tx *tenancy.Tx, sql string, worlds []string) *Held {
	h := &Held{worlds: make(map[string]*locked, len(worlds))}
	var turns []*turn
	for _, id := range worlds {
		if ref, err := refOf(id); err == nil {
			turns = append(turns, &turn{ref: ref})
		}
	}
	slices.SortFunc(turns, inKeyOrder)
	var asked worldColumns
	for _, t := range turns {
		asked.add(t)
	}
	if len(turns) == 0 {
		return h
	}
	tx.Queue(sql, asked.numbers, asked.ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			w := &locked{}
			if err := scanHead(rows, &w.head, &ordinal); err != nil {
				return err
			}
			w.ref = asked.turns[ordinal-1].ref
			h.worlds[w.ref.id] = w
		}
		return rows.Err()
	})
	return h
}

// Exists tells whether there is such a world, not retired.
func (h *Held) Exists(world string) bool {
	w := h.worlds[world]
	return w != nil && !w.Retired
}

// ErrUnsettled says that a lease's time is over and that its end isn't journaled
// yet: Settle, and try again.
var ErrUnsettled = errors.New("the end of the lease is not journaled yet")

// Admit is the append's own predicate: the caller presents the lease in force, as
// its holder, activated and before its end, or the coordinator holds and the
// caller presents none. now is the database's clock, read behind the locks.
//
// Errors: conflict fenced, lease_expired, lease_not_activated, world_not_found;
// ErrUnsettled.
func (h *Held) Admit(now time.Time, world string, scope tenancy.Scope, a *Authority) error {
	w := h.worlds[world]
	if w == nil || w.Retired {
		return errWorldGone
	}
	w.now = later(now, w.LastAt)
	if w.over() {
		return ErrUnsettled
	}
	return w.fence(actorOf(scope), a)
}

var errWorldGone = domain.Conflict("world_not_found",
	"The world to which the collection is bound is retired, so nobody can write there any more.")
