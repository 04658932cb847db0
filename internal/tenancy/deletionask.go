package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	sqlAskDeletion = `
INSERT INTO tenant_deletions (tenant_id, asker_id, asker, asked_at, asked_from)
VALUES ($1, $2, $3, $4, $5)`

	sqlTouchTenant = `
UPDATE tenants SET revision = revision + 1, updated_at = $2 WHERE tenant_id = $1
RETURNING ` + tenantColumns

	sqlAskedFrom = `SELECT d.asked_from = $2 AND d.asker_id = $3 FROM tenant_deletions d WHERE d.tenant_id = $1`
)

// AskDeletion asks for the deletion of an active or suspended tenant, as it is at
// that revision. Nothing else changes until another operator approves. The same
// request again, by the same operator and from the same revision, finds what the
// first one did.
//
// Errors: forbidden; not found tenant_not_found; precondition failed revision_stale;
// conflict tenant_provisioning, deletion_asked (when there is one already);
// unavailable; outcome unknown.
func (s *Store) AskDeletion(ctx context.Context, caller Scope, id domain.TenantID, revision int64) (d Deletion, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Deletion{}, err
	}
	_, err = s.decideTenant(ctx, id, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		if t, err = s.askDeletionTx(ctx, tx, caller, t, revision); err != nil {
			return Tenant{}, err
		}
		d, err = deletionTx(ctx, tx, t)
		return t, err
	})
	if err != nil {
		return Deletion{}, err
	}
	return d, nil
}

func (s *Store) askDeletionTx(ctx context.Context, tx pgx.Tx, caller Scope, t Tenant, revision int64) (Tenant, error) {
	var same bool
	err := tx.QueryRow(ctx, sqlAskedFrom, t.ID, revision, caller.Principal).Scan(&same)
	switch {
	case err == nil && same:
		return t, nil
	case err == nil:
		return Tenant{}, domain.Conflict("deletion_asked", "The tenant's deletion has been asked for already.")
	case !errors.Is(err, pgx.ErrNoRows):
		return Tenant{}, err
	case t.State == TenantProvisioning:
		return Tenant{}, errProvisioning()
	case t.Revision != revision:
		return Tenant{}, errTenantStale()
	}
	now := s.now()
	if _, err := tx.Exec(ctx, sqlAskDeletion, t.ID, caller.Principal, caller.Name, now, revision); err != nil {
		return Tenant{}, err
	}
	return touchTenantTx(ctx, tx, t.ID, now)
}

// touchTenantTx moves the tenant's revision on, where what it stands for is in
// another table.
func touchTenantTx(ctx context.Context, tx pgx.Tx, id domain.TenantID, now time.Time) (Tenant, error) {
	rows, _ := tx.Query(ctx, sqlTouchTenant, id, now)
	return pgx.CollectExactlyOneRow(rows, scanTenant)
}

func errTenantStale() error {
	return domain.PreconditionFailed("revision_stale",
		"The ETag in If-Match is not that of the current revision. Read it again and redo the change.").At("If-Match")
}
