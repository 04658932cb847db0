package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// IssuerID names an issuer that a tenant trusts.
type IssuerID = domain.ID[IssuerKind]

// IssuerKind is the kind of an IssuerID. It has no values.
type IssuerKind struct{}

// Issuer is a service outside of Holdfast whose tokens are accepted for one tenant
// (RFC 7519, section 4.1.1): whom it vouches for, and for how much. What it is trusted
// with never changes; who wants that disables it and makes another.
type Issuer struct {
	ID          IssuerID
	Tenant      domain.TenantID
	URL         string        // the iss claim, to the letter; one tenant at a time has it
	JWKSURI     string        // where its public keys are (RFC 7517)
	Audience    string        // what the aud claim must hold
	Scopes      []string      // of TenantScopes, sorted: the most that its tokens get
	MaxLifetime time.Duration // between iat and exp of a token, at most
	CreatedAt   time.Time
	DisabledAt  time.Time // zero while it is trusted
}

const issuerColumns = `issuer_id, tenant_id, issuer, jwks_uri, audience, scopes, max_lifetime, created_at, disabled_at`

func scanIssuer(row pgx.CollectableRow) (Issuer, error) {
	var i Issuer
	err := row.Scan(&i.ID, &i.Tenant, &i.URL, &i.JWKSURI, &i.Audience, &i.Scopes, &i.MaxLifetime, &i.CreatedAt, (*zeronull.Timestamptz)(&i.DisabledAt))
	i.CreatedAt, i.DisabledAt = i.CreatedAt.UTC(), i.DisabledAt.UTC()
	return i, err
}

const sqlIssuer = `SELECT ` + issuerColumns + ` FROM issuers WHERE tenant_id = $1 AND issuer_id = $2`

func issuerTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id IssuerID) (Issuer, error) {
	rows, _ := tx.Query(ctx, sqlIssuer, tenant, id)
	i, err := pgx.CollectExactlyOneRow(rows, scanIssuer)
	if errors.Is(err, pgx.ErrNoRows) {
		return Issuer{}, domain.NotFound("issuer_not_found", "There is no issuer of that id here.")
	}
	return i, err
}

// TrustedIssuer reads an issuer of a tenant's, disabled or not. Errors: forbidden; not
// found issuer_not_found.
func (s *Store) TrustedIssuer(ctx context.Context, caller Scope, tenant domain.TenantID, id IssuerID) (Issuer, error) {
	return look(ctx, s, caller, tenant, id, issuerTx)
}

const sqlIssuers = `
SELECT ` + issuerColumns + ` FROM issuers
 WHERE tenant_id = $1 AND issuer_id > $2 ORDER BY issuer_id LIMIT $3`

// Issuers lists a tenant's issuers by id, disabled ones too. The position is the last
// id; more tells that others follow. Errors: forbidden; not found tenant_not_found.
func (s *Store) Issuers(ctx context.Context, caller Scope, tenant domain.TenantID, page List[IssuerID]) (issuers []Issuer, more bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return nil, false, err
	}
	if _, err := s.tenant(ctx, tenant); err != nil {
		return nil, false, err
	}
	err = s.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlIssuers, tenant, page.After, page.limit()+1)
		issuers, err = pgx.CollectRows(rows, scanIssuer)
		return err
	})
	issuers, more = cut(issuers, page.limit())
	return issuers, more, err
}

const sqlDisableIssuer = `
UPDATE issuers SET disabled_at = $3
 WHERE tenant_id = $1 AND issuer_id = $2 AND disabled_at IS NULL
RETURNING ` + issuerColumns

// DisableIssuer ends the trust for good: its tokens are refused, those that were
// accepted before too, on every process within the poll. Disabling it again changes
// nothing. Errors: forbidden; not found tenant_not_found, issuer_not_found.
func (s *Store) DisableIssuer(ctx context.Context, caller Scope, tenant domain.TenantID, id IssuerID) (i Issuer, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Issuer{}, err
	}
	if _, err := s.tenant(ctx, tenant); err != nil {
		return Issuer{}, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlDisableIssuer, tenant, id, s.now())
		i, err = pgx.CollectExactlyOneRow(rows, scanIssuer)
		if errors.Is(err, pgx.ErrNoRows) {
			i, err = issuerTx(ctx, tx, tenant, id)
			return err
		}
		if err != nil {
			return err
		}
		return s.revokeTx(ctx, tx, revocation{Tenant: tenant, Kind: revokedIssuer, Subject: id})
	})
	if err != nil {
		return Issuer{}, err
	}
	return i, nil
}
