package tenancy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	sqlApproveDeletion = `
UPDATE tenant_deletions SET approver_id = $2, approver = $3, approved_at = $4, former_state = $5, purge_after = $6
 WHERE tenant_id = $1 AND approver_id IS NULL`

	sqlAskerGone = `
SELECT EXISTS (SELECT FROM tenant_deletions d JOIN principals p ON p.tenant_id = $2 AND p.principal_id = d.asker_id
                WHERE d.tenant_id = $1 AND p.disabled_at IS NOT NULL)`

	sqlSetTenantState = `
UPDATE tenants SET state = $2, revision = revision + 1, updated_at = $3 WHERE tenant_id = $1
RETURNING ` + tenantColumns
)

// deletionAsked is how long a deletion that was asked for can be approved: nobody
// finds a tenant gone for what was wanted once.
const deletionAsked = 30 * 24 * time.Hour

// ApproveDeletion begins the grace of a deletion that another operator asked for:
// the tenant's calls are refused from now on, and when DeletionGrace is over it is
// purged. The revision is the tenant's, as it was shown with the deletion: another
// request, or a tenant that has changed since, is another matter. Who is another
// operator, Involved says. Approving what is approved changes nothing.
//
// Errors: forbidden insufficient_scope, approver_is_involved; not found
// tenant_not_found, deletion_not_found; precondition failed revision_stale; conflict
// deletion_lapsed, asker_disabled; unavailable; outcome unknown. Whoever gets one of
// the last two repeats it.
func (s *Store) ApproveDeletion(ctx context.Context, caller Scope, id domain.TenantID, revision int64) (d Deletion, err error) {
	if err := demand(caller, OperatorApprove); err != nil {
		return Deletion{}, err
	}
	_, err = s.decideGates(ctx, id, func(ctx context.Context, tx pgx.Tx, t Tenant) (Tenant, error) {
		if d, err = deletionTx(ctx, tx, t); err != nil {
			return Tenant{}, err
		}
		involved, err := involvedTx(ctx, tx, caller, d.AskedBy)
		switch {
		case err != nil:
			return Tenant{}, err
		case involved:
			return Tenant{}, domain.Forbidden("approver_is_involved",
				"Who asked for a deletion can't approve it, nor whom they made, or who made them. Another operator has to.")
		case d.ApprovedBy != "":
			return t, nil
		case t.Revision != revision:
			return Tenant{}, errTenantStale()
		case s.now().Sub(d.AskedAt) > deletionAsked:
			return Tenant{}, domain.Conflict("deletion_lapsed",
				"The deletion was asked for more than 30 days ago. Call it off, and ask for it again.")
		}
		if err := demandAskerTx(ctx, tx, t.ID); err != nil {
			return Tenant{}, err
		}
		d, err = s.approveDeletionTx(ctx, tx, caller, t)
		return d.Tenant, err
	})
	if err != nil {
		return Deletion{}, err
	}
	return d, nil
}

// demandAskerTx refuses a deletion whose asker has been disabled since.
func demandAskerTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID) error {
	var gone bool
	if err := tx.QueryRow(ctx, sqlAskerGone, tenant, Operators).Scan(&gone); err != nil || !gone {
		return err
	}
	return domain.Conflict("asker_disabled",
		"Who asked for the deletion is no operator any more. Call it off, and have somebody ask for it again.")
}

func (s *Store) approveDeletionTx(ctx context.Context, tx pgx.Tx, caller Scope, t Tenant) (Deletion, error) {
	now := s.now()
	_, err := tx.Exec(ctx, sqlApproveDeletion, t.ID, caller.Principal, caller.Name, now, t.State, now.Add(DeletionGrace))
	if err != nil {
		return Deletion{}, err
	}
	if t, err = s.setTenantStateTx(ctx, tx, t.ID, TenantDeleting, now); err != nil {
		return Deletion{}, err
	}
	return deletionTx(ctx, tx, t)
}

// setTenantStateTx moves a tenant whose row is locked, and tells every process.
func (s *Store) setTenantStateTx(ctx context.Context, tx pgx.Tx, id domain.TenantID, state string, now time.Time) (Tenant, error) {
	rows, _ := tx.Query(ctx, sqlSetTenantState, id, state, now)
	t, err := pgx.CollectExactlyOneRow(rows, scanTenant)
	if err != nil {
		return Tenant{}, err
	}
	return t, s.revokeTx(ctx, tx, revocation{Tenant: id, Kind: revokedTenant, Subject: id})
}
