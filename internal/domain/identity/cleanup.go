package identity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// CleanupTask is one kind of what has had its time. Each looks through one
// number for what has been due longest, of all tenants, behind a cursor as the
// sweeps have one. What can't be dealt with now is met again in the next pass,
// and stands in nobody's way.
type CleanupTask string

const (
	CleanLapsedDevices    CleanupTask = "lapsed_devices"        // never approved, or approved and never fetched, a day after their code's expiry
	CleanRevokedDevices   CleanupTask = "revoked_devices"       // past their retention
	CleanExpiredCodes     CleanupTask = "expired_codes"         // claims of user codes, a day after their expiry
	CleanEndedQuarantines CleanupTask = "ended_quarantines"     // deleted accounts' handles
	CleanDevicesOfDeleted CleanupTask = "devices_of_deleted"    // deleted accounts' devices
	CleanTombstones       CleanupTask = "tombstones"            // past their retention, when nothing hangs on them any more
	CleanDoubtfulLinks    CleanupTask = "doubtful_links"        // from accounts to devices, whose approval died on its way
	CleanExpiredChanges   CleanupTask = "expired_email_changes" // a day after their expiry
	CleanOldGuesses       CleanupTask = "old_code_guesses"      // that no longer count
	CleanOldEvents        CleanupTask = "old_events"            // past their retention
)

// CleanupTasks are all of them.
func CleanupTasks() []CleanupTask {
	return []CleanupTask{
		CleanLapsedDevices, CleanRevokedDevices, CleanExpiredCodes,
		CleanEndedQuarantines, CleanDevicesOfDeleted, CleanTombstones, CleanDoubtfulLinks,
		CleanExpiredChanges, CleanOldGuesses, CleanOldEvents,
	}
}

// How long behind the times that rows carry they are due.
const (
	expiryGrace = 24 * time.Hour // of codes, what they leave behind, and email changes
	linkGrace   = time.Hour      // more than any approval takes between its link and its end
)

// Family is what the task looks through. Events have streams and no family: a
// number's hold those of accounts and of devices.
func (t CleanupTask) Family() domain.Family {
	switch t {
	case CleanLapsedDevices, CleanRevokedDevices:
		return domain.FamilyDevice
	case CleanExpiredCodes:
		return domain.FamilyDeviceCode
	case CleanOldEvents:
		return "event"
	default:
		return domain.FamilyAccount
	}
}

// cleanup is how a task does its work.
type cleanup struct {
	find  string        // the statement that reads a page
	of    domain.Family // the records that it names
	grace time.Duration // how long behind a candidate's time it is due
	deal  func(context.Context, *cleaning) (int, error)
}

// cleaning is a tenant's part in a page: what was due in one number at a time of
// that number's database.
type cleaning struct {
	tenant domain.TenantID
	number domain.Number
	due    time.Time
	found  []candidate
}

const (
	sqlLapsedDevices    = `SELECT due_at, tenant_id, record_id, token FROM cleanup_lapsed_devices($1, $2, $3, $4, $5, $6, $7)`
	sqlRevokedDevices   = `SELECT due_at, tenant_id, record_id, token FROM cleanup_revoked_devices($1, $2, $3, $4, $5, $6, $7)`
	sqlExpiredCodes     = `SELECT due_at, tenant_id, record_id, token FROM cleanup_expired_codes($1, $2, $3, $4, $5, $6, $7)`
	sqlEndedQuarantines = `SELECT due_at, tenant_id, record_id, token FROM cleanup_ended_quarantines($1, $2, $3, $4, $5, $6, $7)`
	sqlDevicesOfDeleted = `SELECT due_at, tenant_id, record_id, token FROM cleanup_devices_of_deleted($1, $2, $3, $4, $5, $6, $7)`
	sqlTombstones       = `SELECT due_at, tenant_id, record_id, token FROM cleanup_tombstones($1, $2, $3, $4, $5, $6, $7)`
	sqlDoubtfulLinks    = `SELECT due_at, tenant_id, record_id, token FROM cleanup_doubtful_links($1, $2, $3, $4, $5, $6, $7)`
	sqlExpiredChanges   = `SELECT due_at, tenant_id, record_id, token FROM cleanup_expired_email_changes($1, $2, $3, $4, $5, $6, $7)`
	sqlOldGuesses       = `SELECT due_at, tenant_id, record_id, token FROM cleanup_old_code_guesses($1, $2, $3, $4, $5, $6, $7)`
	sqlOldEvents        = `SELECT due_at, tenant_id, record_id, token FROM cleanup_old_events($1, $2, $3, $4, $5, $6, $7)`
)

func (s *Service) cleanup(task CleanupTask) (c cleanup, ok bool) {
	switch task {
	case CleanLapsedDevices:
		return cleanup{sqlLapsedDevices, domain.FamilyDevice, expiryGrace, each(s.removeLapsed)}, true
	case CleanRevokedDevices:
		return cleanup{sqlRevokedDevices, domain.FamilyDevice, s.retention, each(s.removeRevoked)}, true
	case CleanExpiredCodes:
		return cleanup{sqlExpiredCodes, domain.FamilyDevice, expiryGrace, s.releaseExpired}, true
	case CleanEndedQuarantines:
		return cleanup{sqlEndedQuarantines, domain.FamilyAccount, 0, each(s.endQuarantine)}, true
	case CleanDevicesOfDeleted:
		return cleanup{sqlDevicesOfDeleted, domain.FamilyAccount, 0, each(s.clearDeleted)}, true
	case CleanTombstones:
		return cleanup{sqlTombstones, domain.FamilyAccount, s.retention, s.removeTombstones}, true
	case CleanDoubtfulLinks:
		return cleanup{sqlDoubtfulLinks, domain.FamilyAccount, linkGrace, each(s.settleLink)}, true
	case CleanExpiredChanges:
		return cleanup{sqlExpiredChanges, domain.FamilyAccount, expiryGrace, s.removeChanges}, true
	case CleanOldGuesses:
		return cleanup{sqlOldGuesses, domain.FamilyAccount, 0, s.removeGuesses}, true
	case CleanOldEvents:
		return cleanup{sqlOldEvents, domain.FamilyAccount, s.retention, s.removeEvents}, true
	default:
		return cleanup{}, false
	}
}

// Cleanup does one bounded step of a task in one number, of all tenants: it reads
// a page of what is due and deals with it. Recovered counts what went, or found
// its end.
//
// Any number of steps may run at once, and each may die anywhere: what a step
// decides, it decides under a lock or with a guard, by what is there then, and
// what is left half done is due still.
//
// A tenant that is suspended or closed is left as it is. One that is still
// importing is cleaned up.
func (s *Service) Cleanup(ctx context.Context, database string, task CleanupTask, number domain.Number, limit int) (SweepStep, error) {
	m := s.maintenance
	work, ok := m.cleanup(task)
	if !ok {
		return SweepStep{}, fmt.Errorf("no cleanup task %q", task)
	}
	cursor := sweepCursor{kind: sweepKind(task), family: task.Family(), number: number}
	deal := func(ctx context.Context, p page) (int, error) {
		if err := m.reach(ctx, "cleanup found"); err != nil {
			return 0, err
		}
		slices.SortStableFunc(p.found, func(a, b candidate) int { return bytes.Compare(a.tenant[:], b.tenant[:]) })
		return eachTenant(p.found, func(tenant domain.TenantID, found []candidate) (int, error) {
			return work.deal(ctx, &cleaning{tenant, number, p.at.Add(-work.grace), found})
		})
	}
	return m.sweep(ctx, database, cursor, limit, work.candidates, deal)
}

// candidates is the task's finder.
func (w cleanup) candidates(ctx context.Context, tx pgx.Tx, c *sweepCursor, now time.Time, limit int) ([]candidate, error) {
	rows, _ := tx.Query(ctx, w.find, int16(c.number), now.Add(-w.grace), c.deadline, c.tenant, c.record, c.token, limit)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (found candidate, err error) {
		var due *time.Time
		var id domain.RecordID
		err = row.Scan(&due, &found.tenant, &id, &found.token)
		found.deadline, found.record = orZero(due), refTo(w.of, id)
		return found, err
	})
}

// each deals with candidates one by one. A failure of one, whose other bucket may
// be on a database that is down, doesn't keep the rest from their turn.
func each(deal func(context.Context, *cleaning, candidate) (bool, error)) func(context.Context, *cleaning) (int, error) {
	return func(ctx context.Context, c *cleaning) (dealt int, err error) {
		for _, found := range c.found {
			did, e := deal(ctx, c, found)
			if did {
				dealt++
			}
			err = errors.Join(err, e)
			if stopped(e) || domain.KindOf(e) == domain.KindForbidden {
				break
			}
		}
		return dealt, err
	}
}
