package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// familyEvents is the name by which violations call a number's stream of events.
const familyEvents domain.Family = "event"

// checkedEvent is an event with what must agree with it, of the same moment.
type checkedEvent struct {
	stands   domain.Number
	sequence int64
	record   ref
	counted  int64 // its stream's counter; 0 if there is none
	forsaken bool  // it is its record's last event, the record isn't there, and no event says why
}

func (e checkedEvent) place() []any { return []any{int16(e.stands), e.sequence} }

// An event of a record that isn't there, and wasn't removed, is asked for once
// for each such record: at the last one.
const sqlCheckEvents = `
SELECT e.number, e.sequence, e.family, e.record_id, coalesce(c.last, 0),
       a.account_id IS NULL AND d.device_id IS NULL AND e.kind NOT IN ('account.deleted', 'device.removed')
       AND (SELECT l.revision FROM events l
             WHERE l.tenant_id = $1 AND l.number = e.number AND l.family = e.family AND l.record_id = e.record_id AND l.revision > e.revision
             ORDER BY l.revision LIMIT 1) IS NULL
  FROM (SELECT e.* FROM events e
         WHERE e.tenant_id = $1 AND e.number BETWEEN $4 AND $2 AND (e.number, e.sequence) > ($4, $5)
         ORDER BY e.number, e.sequence LIMIT $3) e
  LEFT JOIN LATERAL (SELECT c.last FROM event_counters c WHERE c.tenant_id = $1 AND c.number = e.number LIMIT 1) c ON true
  LEFT JOIN LATERAL (SELECT a.account_id FROM accounts a
                      WHERE e.family = 'account' AND a.tenant_id = $1 AND a.number = e.number AND a.account_id = e.record_id LIMIT 1) a ON true
  LEFT JOIN LATERAL (SELECT d.device_id FROM devices d
                      WHERE e.family = 'device' AND d.tenant_id = $1 AND d.number = e.number AND d.device_id = e.record_id LIMIT 1) d ON true
 ORDER BY e.number, e.sequence`

// streams holds each number's events to their order: they are dense, and the last
// is the one that the counter counted last.
func (r *inspectedRun) streams(ctx context.Context) error {
	scan := func(row pgx.CollectableRow) (e checkedEvent, err error) {
		var family domain.Family
		var id domain.RecordID
		err = row.Scan(&e.stands, &e.sequence, &family, &id, &e.counted, &e.forsaken)
		e.record = refTo(family, id)
		return e, err
	}
	var before checkedEvent
	err := walk(ctx, r, sqlCheckEvents, []any{int64(0)}, scan, func(ctx context.Context, page []checkedEvent, _ time.Time) error {
		r.count(func(t *tally) { t.events += int64(len(page)) })
		for _, e := range page {
			if err := r.event(ctx, before, e); err != nil {
				return err
			}
			before = e
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.ends(ctx)
}

// event looks at one event and the one before it in the walk.
func (r *inspectedRun) event(ctx context.Context, before, e checkedEvent) error {
	first := before.sequence == 0 || before.stands != e.stands
	if first && e.counted == 0 {
		if err := r.broken(e.stands, "has events and no counter, so that the next event would take the place of its first. "+
			"Restore the counter to the highest sequence."); err != nil {
			return err
		}
	}
	if !first && !domain.NextEraFollows(before.sequence, e.sequence) {
		if err := r.gap(ctx, before); err != nil {
			return err
		}
	}
	switch {
	case e.stands != e.record.Number:
		return r.misplaced(e.record.Family, e.stands, e.record.ID.String(), e.record.ID)
	case e.forsaken:
		return r.tell(Violation{Kind: RecordMissing, Database: r.db.Name, Family: e.record.Family, Number: e.stands, Record: e.record.ID,
			Detail: "There are events of a record that isn't there, and none of its removal. Something took the record past Holdfast, " +
				"and its keys are free for others to take: restore it from a backup."})
	}
	return nil
}

const sqlCheckGap = `
SELECT count(*) FILTER (WHERE sequence = $3), count(*) FILTER (WHERE sequence = $3 + 1) FROM events
 WHERE tenant_id = $1 AND number = $2 AND sequence BETWEEN $3 AND $3 + 1`

// gap looks again at what seems to be missing behind an event. Events are removed
// from the oldest on: if that one is gone by now, the cleanup came by.
func (r *inspectedRun) gap(ctx context.Context, before checkedEvent) error {
	var still, next int64
	err := tenancy.Run(ctx, r.db, r.entry([]int16{int16(before.stands)}), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlCheckGap, int16(before.stands), before.sequence).QueryRow(func(row pgx.Row) error { return row.Scan(&still, &next) })
		return nil
	})
	if err != nil || still == 0 || next > 0 {
		return err
	}
	return r.broken(before.stands, fmt.Sprintf("lacks events behind sequence %d. Readers of the feed have missed them: have them read the records again.", before.sequence))
}

const sqlCheckEnds = `
SELECT c.number, c.last, e.last FROM event_counters c
 CROSS JOIN LATERAL (SELECT max(e.sequence) AS last FROM events e WHERE e.tenant_id = $1 AND e.number = c.number) e
 WHERE c.tenant_id = $1 AND c.number = ANY ($2) AND e.last <> c.last
 ORDER BY c.number`

// ends holds the streams' counters to their last events. A stream of which
// nothing is kept has none to hold it to.
func (r *inspectedRun) ends(ctx context.Context) error {
	type end struct {
		number        domain.Number
		counted, last int64
	}
	var numbers []int16
	for n := r.first; n <= r.last; n++ {
		numbers = append(numbers, int16(n))
	}
	var wrong []end
	err := tenancy.Run(ctx, r.db, r.entry(numbers), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlCheckEnds, numbers).Query(func(rows pgx.Rows) (err error) {
			wrong, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e end, err error) {
				err = row.Scan(&e.number, &e.counted, &e.last)
				return e, err
			})
			return err
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range wrong {
		if domain.EndsAt(e.counted, e.last) {
			continue // the counter has left an era that a restore took back
		}
		if err := r.broken(e.number, fmt.Sprintf("ends at sequence %d, and its counter is at %d. Set the counter to the higher one; "+
			"if events are missing, have readers of the feed read the records again.", e.last, e.counted)); err != nil {
			return err
		}
	}
	return nil
}

func (r *inspectedRun) broken(number domain.Number, wrong string) error {
	return r.tell(Violation{Kind: StreamBroken, Database: r.db.Name, Family: familyEvents, Number: number,
		Detail: fmt.Sprintf("The stream of number %d %s", number, wrong)})
}
