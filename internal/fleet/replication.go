package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const sqlSubscribes = `
SELECT EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid WHERE d.datname = current_database() AND s.subname = $1)`

const sqlHasSlot = `SELECT EXISTS (SELECT FROM pg_replication_slots s WHERE s.database = current_database() AND s.slot_name = $1)`

// refuseReplication refuses databases that copy from another, or are copied from:
// what is done on one would be done on the other, or undone.
func refuseReplication(ctx context.Context, databases ...*postgres.Database) error {
	for _, db := range databases {
		if err := refuseSubscription(ctx, db); err != nil {
			return err
		}
		if err := refuseIf(ctx, db, sqlHasSlot, "replication slot"); err != nil {
			return err
		}
	}
	return nil
}

// refuseSubscription refuses a database that copies from another.
func refuseSubscription(ctx context.Context, db *postgres.Database) error {
	return refuseIf(ctx, db, sqlSubscribes, "subscription")
}

func refuseIf(ctx context.Context, db *postgres.Database, exists, what string) error {
	var found bool
	if err := db.Pool.QueryRow(ctx, exists, moveName).Scan(&found); err != nil {
		return on(db, err)
	}
	if found {
		return refuse("%s has a %s %s: end the copying first (deploy/fleet/unsubscribe.sql)", db.Name, what, moveName)
	}
	return nil
}

// Progress is how far the copying has come.
type Progress struct {
	Tables int   `json:"tables"` // to copy
	Copied int   `json:"copied"` // of them, and followed from there
	Behind int64 `json:"behind"` // bytes of the source's log that the target has not confirmed
}

// Done tells whether everything has been copied, and is followed closely enough for
// the rest to take a moment.
func (p Progress) Done() bool { return p.Copied == p.Tables && p.Behind < closelyBehind }

// closelyBehind is what a target is behind by that follows, in bytes.
const closelyBehind = 16 << 20

// sqlCopied counts tables: 'r' is one that is copied and followed.
const sqlCopied = `
SELECT count(*) FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid JOIN pg_database d ON d.oid = s.subdbid
 WHERE d.datname = current_database() AND s.subname = $1 AND s.subenabled AND r.srsubstate = 'r'`

// A slot that has confirmed nothing yet is as far behind as can be.
const sqlBehind = `
SELECT coalesce(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), s.confirmed_flush_lsn), 9223372036854775807)::bigint
  FROM pg_replication_slots s WHERE s.database = current_database() AND s.slot_name = $1`

// ReadProgress reads how far the copying has come.
func ReadProgress(ctx context.Context, m Move) (p Progress, err error) {
	tables, err := movingTables(ctx, m.From)
	if err != nil {
		return Progress{}, err
	}
	p.Tables = len(tables)
	if err := m.To.Pool.QueryRow(ctx, sqlCopied, moveName).Scan(&p.Copied); err != nil {
		return Progress{}, on(m.To, err)
	}
	err = m.From.Pool.QueryRow(ctx, sqlBehind, moveName).Scan(&p.Behind)
	if errors.Is(err, pgx.ErrNoRows) {
		err = refuse("the database has no replication slot %s: nobody subscribes (deploy/fleet/subscribe.sql)", moveName)
	}
	return p, on(m.From, err)
}

// awaitPause is between two looks.
const awaitPause = 200 * time.Millisecond

const sqlFlushed = `SELECT pg_current_wal_flush_lsn()::text`

const sqlConfirmed = `
SELECT coalesce(s.confirmed_flush_lsn >= $2::pg_lsn, false)
  FROM pg_replication_slots s WHERE s.database = current_database() AND s.slot_name = $1`

// Await returns when the target has everything that was committed on the source, if
// the numbers are closed there; else when it has copied everything and follows
// closely (Progress.Done). While it waits, it tells the progress.
func Await(ctx context.Context, m Move, tell func(Progress)) error {
	closed := demandStates(ctx, m.From, m.Numbers, "closed") == nil
	// Closing was flushed, and with it whatever had been committed before.
	var last string
	if err := m.From.Pool.QueryRow(ctx, sqlFlushed).Scan(&last); err != nil {
		return on(m.From, err)
	}
	for {
		p, err := ReadProgress(ctx, m)
		if err != nil {
			return err
		}
		done := p.Done()
		if closed {
			err := m.From.Pool.QueryRow(ctx, sqlConfirmed, moveName, last).Scan(&done)
			if err != nil {
				return on(m.From, err)
			}
		}
		tell(p)
		if done && p.Copied == p.Tables {
			return nil
		}
		select {
		case <-time.After(awaitPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
