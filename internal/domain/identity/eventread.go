package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// MaxEvents bounds the events of a page.
const MaxEvents = 1000

// EventPage is a page of a record's history.
type EventPage struct {
	Events []Event // in the order of revisions
	More   bool    // there were more behind them
}

const eventColumns = `e.number, e.sequence, e.family, e.record_id, e.revision, e.kind, e.fields, e.actor_kind, e.actor_id, e.at`

// One row more than the page tells whether there is another.
const sqlReadHistory = `
SELECT ` + eventColumns + ` FROM events e
 WHERE e.tenant_id = $1 AND e.number = $2 AND e.family = $3 AND e.record_id = $4 AND e.revision > $5
 ORDER BY e.revision
 LIMIT $6`

// sqlHasHistory tells an account that is there, or was and is still told of. The
// order keeps the search on the record's own events, when the plan is made while
// there are few.
const sqlHasHistory = `
SELECT EXISTS (SELECT FROM accounts a
                WHERE a.tenant_id = $1 AND a.number = $2 AND a.account_id = $4 AND a.status <> 'deleted')
    OR (SELECT e.revision FROM events e
         WHERE e.tenant_id = $1 AND e.number = $2 AND e.family = $3 AND e.record_id = $4 AND e.revision > 0
         ORDER BY e.revision LIMIT 1) IS NOT NULL`

// AccountEvents reads an account's history behind a revision, 0 for all of it.
// Events past their retention are gone, so a history may begin later than at
// revision 1, and that of an account may be empty. A deleted account's can be
// read for as long as there is any of it.
//
// Errors: not found, unavailable, the gates' refusals.
func (s *Service) AccountEvents(ctx context.Context, scope tenancy.Scope, account domain.AccountID, after int64, limit int) (EventPage, error) {
	limit = min(max(limit, 1), MaxEvents)
	record := accountRef(account)
	number := int16(record.Number)
	e := s.entry(scope.Tenant, []int16{number})
	e.ReadOnly = true
	var page EventPage
	var known bool
	err := tenancy.Run(ctx, s.router.Database(record.Number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlReadHistory, number, record.Family, record.ID, after, limit+1).Query(func(rows pgx.Rows) (err error) {
			page.Events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Event, error) { return scanEvent(row) })
			return err
		})
		tx.Queue(sqlHasHistory, number, record.Family, record.ID).QueryRow(func(row pgx.Row) error { return row.Scan(&known) })
		return nil
	})
	switch {
	case err != nil:
		return EventPage{}, err
	case !known:
		return EventPage{}, errNoAccount
	case len(page.Events) > limit:
		page.Events, page.More = page.Events[:limit], true
	}
	return page, nil
}

// scanEvent scans what the caller's columns begin with, then eventColumns.
func scanEvent(row pgx.CollectableRow, before ...any) (e Event, err error) {
	var actor *domain.RecordID
	err = row.Scan(append(before, &e.Number, &e.Sequence, &e.Family, &e.Record, &e.Revision,
		&e.Kind, &e.Fields, &e.Actor.Kind, &actor, &e.At)...)
	e.Actor.ID = orZero(actor)
	return e, err
}
