package tenancy

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// revocationsKept is how long a revocation is kept. It must be longer than any
// token lives, so that a process that starts late knows of it; a process that
// was away for longer finds a gap in the sequence and forgets all it knew.
const revocationsKept = 24 * time.Hour

// The kinds of revocation. Keys, principals and issuers end for good. A tenant's or a
// public client's says only that its state changed, and must be read again.
const (
	revokedKey       = "key"
	revokedPrincipal = "principal"
	revokedTenant    = "tenant"
	revokedClient    = "client"
	revokedIssuer    = "issuer"
)

// revocation tells every process that what it remembers of the subject, a
// KeyID, PrincipalID, TenantID, ClientID or IssuerID, no longer holds.
type revocation struct {
	Sequence int64
	Tenant   domain.TenantID
	Kind     string
	Subject  [16]byte
	At       time.Time
}

// sqlCountRevocation takes the next number and holds the row until commit: the
// order of numbers is the order of commits, so that who has read up to a number
// will never miss a lower one.
const sqlCountRevocation = `UPDATE revocation_counter SET value = value + 1 WHERE only_row RETURNING value`

const sqlRevoke = `INSERT INTO revocations (sequence, tenant_id, kind, subject, revoked_at) VALUES ($1, $2, $3, $4, $5)`

const sqlForgetRevocations = `DELETE FROM revocations WHERE revoked_at < $1`

// revokeTx joins the transaction that changes the subject. It comes last in it,
// since from here on other revocations wait, and it leaves the transaction
// entered as the operators, whose rows these are.
func (s *Store) revokeTx(ctx context.Context, tx pgx.Tx, r revocation) error {
	if _, err := tx.Exec(ctx, sqlEnterControl, Operators); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, sqlCountRevocation).Scan(&r.Sequence); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sqlRevoke, r.Sequence, r.Tenant, r.Kind, r.Subject, s.now()); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, sqlForgetRevocations, s.now().Add(-revocationsKept))
	return err
}

const sqlRevocationCounter = `SELECT value FROM revocation_counter WHERE only_row`

const sqlRevocations = `
SELECT sequence, tenant_id, kind, subject, revoked_at FROM revocations
 WHERE sequence > $1 ORDER BY sequence`

// revocationsTx reads what was revoked after a sequence, in order, and the
// sequence that this reaches to. What is older than revocationsKept is missing.
func revocationsTx(ctx context.Context, tx pgx.Tx, after int64) (revoked []revocation, upTo int64, err error) {
	if err := tx.QueryRow(ctx, sqlRevocationCounter).Scan(&upTo); err != nil || upTo == after {
		return nil, upTo, err
	}
	rows, _ := tx.Query(ctx, sqlRevocations, after)
	revoked, err = pgx.CollectRows(rows, pgx.RowToStructByPos[revocation])
	if len(revoked) > 0 {
		upTo = max(upTo, revoked[len(revoked)-1].Sequence) // the second statement may see later commits
	}
	return revoked, upTo, err
}
