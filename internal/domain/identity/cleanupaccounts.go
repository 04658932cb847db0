package identity

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlEndQuarantine leaves the revision as it is: nobody sees a tombstone.
const sqlEndQuarantine = `
UPDATE accounts SET handle = NULL, handle_key = NULL, handle_token = NULL, skeleton_key = NULL, skeleton_token = NULL,
       quarantined_until = NULL
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND status = 'deleted' AND quarantined_until <= $4`

// endQuarantine releases a tombstone's handle, and its skeleton, and then takes
// them from it. They have been anybody's since the quarantine ended, so somebody
// may have them by now, under other tokens.
//
// A crash in between leaves a tombstone with a handle that nothing claims for it.
func (s *Service) endQuarantine(ctx context.Context, c *cleaning, found candidate) (bool, error) {
	r, err := s.read(ctx, c.tenant, found.record, true)
	if err != nil || r.account == nil || r.account.quarantinedUntil == nil || r.account.quarantinedUntil.After(c.due) {
		return false, err
	}
	if err := s.release(ctx, c.tenant, found.record, r.account.links()); err != nil {
		return false, err
	}
	if err := s.reach(ctx, "cleanup handle released"); err != nil {
		return false, err
	}
	n, err := s.changeFound(ctx, c, sqlEndQuarantine, []candidate{found}, c.due)
	return n > 0, err
}

const sqlNoteDevicesRemoved = `
UPDATE accounts SET devices_removed_at = $4
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND status = 'deleted' AND devices_removed_at IS NULL
   AND NOT EXISTS (SELECT FROM account_devices l WHERE l.tenant_id = $1 AND l.number = $2 AND l.account_id = $3)`

// noteDevicesRemoved notes that a deleted account has no devices left.
func (s *Service) noteDevicesRemoved(ctx context.Context, c *cleaning, found candidate) (bool, error) {
	n, err := s.changeFound(ctx, c, sqlNoteDevicesRemoved, []candidate{found}, c.due)
	return n > 0, err
}

// sqlRemoveTombstone keeps a tombstone for as long as there are events of its
// account: whoever made that repeatable could otherwise make it again, and its
// revisions would be told of twice. Nothing is linked to a tombstone any more, and
// nothing told of it, so what isn't there now won't be. (Nothing but a tombstone
// has a devices_removed_at.)
const sqlRemoveTombstone = `
DELETE FROM accounts
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND deleted_at <= $4
   AND quarantined_until IS NULL AND devices_removed_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM events e
                    WHERE e.tenant_id = $1 AND e.number = $2 AND e.family = 'account' AND e.record_id = $3)`

func (s *Service) removeTombstones(ctx context.Context, c *cleaning) (int, error) {
	return s.changeFound(ctx, c, sqlRemoveTombstone, c.found, c.due)
}

const sqlRemoveChange = `
DELETE FROM email_changes
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND expires_at <= $4`

func (s *Service) removeChanges(ctx context.Context, c *cleaning) (int, error) {
	return s.changeFound(ctx, c, sqlRemoveChange, c.found, c.due)
}

const sqlRemoveGuesses = `
DELETE FROM code_guesses
 WHERE tenant_id = $1 AND number = $2 AND subject = $3 AND kept_until <= $4`

func (s *Service) removeGuesses(ctx context.Context, c *cleaning) (int, error) {
	return s.changeFound(ctx, c, sqlRemoveGuesses, c.found, c.due)
}

// changeFound runs a statement on each of the candidates, whose guard it carries,
// and counts those that it matched. $2 is the number, $3 the record, $4 the time
// given. Rows come in key order, as whoever else locks several has them.
func (s *Service) changeFound(ctx context.Context, c *cleaning, sql string, found []candidate, at time.Time) (matched int, err error) {
	number := int16(c.number)
	slices.SortFunc(found, func(a, b candidate) int { return compareRefs(a.record, b.record) })
	err = tenancy.Run(ctx, s.router.Database(c.number), s.entry(c.tenant, []int16{number}), func(_ context.Context, tx *tenancy.Tx) error {
		for _, f := range found {
			tx.Queue(sql, number, f.record.ID, at).Exec(func(tag pgconn.CommandTag) error {
				matched += int(tag.RowsAffected())
				return nil
			})
		}
		return nil
	})
	return matched, err
}
