package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCountEvents moves each stream's counter on and locks its row until the
// commit. Rows come in the order of their numbers, and behind all other locks of
// the transaction.
const sqlCountEvents = `
INSERT INTO event_counters AS c (tenant_id, number, last)
SELECT $1, n.number, n.events FROM unnest($2::smallint[], $3::bigint[]) AS n (number, events)
ON CONFLICT (tenant_id, number) DO UPDATE SET last = c.last + excluded.last`

// sqlWriteEvents gives each event its place: behind counts the events of its
// number that come after it in this transaction.
const sqlWriteEvents = `
INSERT INTO events (tenant_id, number, family, record_id, revision, sequence, kind, fields, actor_kind, actor_id, at)
SELECT $1, e.number, e.family, e.record_id, e.revision, c.last - e.behind, e.kind, string_to_array(e.fields, ','), e.actor_kind, e.actor_id, $2
  FROM unnest($3::smallint[], $4::text[], $5::uuid[], $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[], $11::uuid[])
       AS e (number, family, record_id, revision, behind, kind, fields, actor_kind, actor_id)
 CROSS JOIN LATERAL (SELECT c.last FROM event_counters c WHERE c.tenant_id = $1 AND c.number = e.number OFFSET 0) c`

// queueEvents writes the events of a transaction's changes, at the end of it:
// whoever else would write to the same streams waits from here to the commit.
func queueEvents(tx *tenancy.Tx, now time.Time, events ...event) {
	slices.SortStableFunc(events, func(a, b event) int { return int(a.record.Number) - int(b.record.Number) })
	var rows eventColumnsOf
	for _, e := range events {
		rows.add(e)
	}
	rows.countBehind()
	tx.Queue(sqlCountEvents, rows.streams, rows.counts)
	tx.Queue(sqlWriteEvents, now, rows.numbers, rows.families, rows.records, rows.revisions, rows.behind,
		rows.kinds, rows.fields, rows.actorKinds, rows.actors)
}

// eventColumnsOf are events as columns, for unnest, in the order of their numbers.
type eventColumnsOf struct {
	numbers                             []int16
	families, kinds, fields, actorKinds []string
	records                             [][16]byte
	actors                              []*[16]byte
	revisions, behind                   []int64

	streams []int16 // each number once
	counts  []int64 // of its events
}

func (c *eventColumnsOf) add(e event) {
	number := int16(e.record.Number)
	c.numbers = append(c.numbers, number)
	c.families = append(c.families, string(e.record.Family))
	c.records = append(c.records, e.record.ID)
	c.revisions = append(c.revisions, e.revision)
	c.kinds = append(c.kinds, string(e.kind))
	c.fields = append(c.fields, strings.Join(e.fields, ","))
	c.actorKinds = append(c.actorKinds, string(e.actor.Kind))
	c.actors = append(c.actors, orNil([16]byte(e.actor.ID)))
	if n := len(c.streams); n == 0 || c.streams[n-1] != number {
		c.streams, c.counts = append(c.streams, number), append(c.counts, 0)
	}
	c.counts[len(c.counts)-1]++
}

func (c *eventColumnsOf) countBehind() {
	for _, count := range c.counts {
		for behind := count - 1; behind >= 0; behind-- {
			c.behind = append(c.behind, behind)
		}
	}
}
