package tenancy

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Principal is who a caller is: a tenant's program, or an operator. Its keys
// may change; its name and scopes don't.
type Principal struct {
	ID         domain.PrincipalID
	Name       string // unique in its tenant, or among the operators
	Scopes     []string
	CreatedAt  time.Time
	DisabledAt time.Time // zero while it may call
}

const principalColumns = `principal_id, name, scopes, created_at, disabled_at`

func scanPrincipal(row pgx.CollectableRow) (Principal, error) {
	var p Principal
	err := row.Scan(&p.ID, &p.Name, &p.Scopes, &p.CreatedAt, (*zeronull.Timestamptz)(&p.DisabledAt))
	p.CreatedAt, p.DisabledAt = p.CreatedAt.UTC(), p.DisabledAt.UTC()
	return p, err
}

// NewPrincipal asks for a principal or an operator. Its name has no capitals
// and no letters that look like others, since people compare names.
type NewPrincipal struct {
	Name           string   // [a-z0-9][a-z0-9._-]{0,127}
	Scopes         []string // at least one of TenantScopes; of OperatorScopes for an operator
	IdempotencyKey string   // at most 255 characters; empty for none

	by domain.PrincipalID // the operator who makes it; zero for the first ones, whom nobody made
}

var principalName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

func (want NewPrincipal) checked(grantable []string) (NewPrincipal, error) {
	if !principalName.MatchString(want.Name) {
		return want, domain.Invalid("principal_name_invalid",
			"A name has 1 to 128 characters of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit.").At("/name")
	}
	scopes, err := parseScopes(want.Scopes, grantable)
	want.Scopes = scopes
	return want, err
}

// CreatePrincipal makes a principal of a tenant.
//
// Errors: forbidden; invalid; not found tenant_not_found; conflict
// principal_name_taken, tenant_provisioning.
func (s *Store) CreatePrincipal(ctx context.Context, caller Scope, tenant domain.TenantID, want NewPrincipal) (p Principal, replayed bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Principal{}, false, err
	}
	if want, err = want.checked(TenantScopes()); err != nil {
		return Principal{}, false, err
	}
	if err := s.demandTenant(ctx, tenant); err != nil {
		return Principal{}, false, err
	}
	return s.createPrincipal(ctx, caller, tenant, want)
}

// demandTenant refuses a tenant that isn't there or not yet whole. No tenant
// ever goes back to that, so nothing need be locked.
func (s *Store) demandTenant(ctx context.Context, id domain.TenantID) error {
	t, err := s.tenant(ctx, id)
	if err == nil && t.State == TenantProvisioning {
		return errProvisioning()
	}
	return err
}

func (s *Store) createPrincipal(ctx context.Context, caller Scope, tenant domain.TenantID, want NewPrincipal) (p Principal, replayed bool, err error) {
	var id domain.PrincipalID
	if err := identify(ctx, s, caller, &id, "principal", tenant, want.IdempotencyKey); err != nil {
		return Principal{}, false, err
	}
	want.by = caller.Principal
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		p, replayed, err = s.createPrincipalTx(ctx, tx, tenant, id, want)
		return err
	})
	return p, replayed, err
}

// sqlCreatePrincipal does nothing when the id or the name is taken; which of
// them, a second read tells.
const sqlCreatePrincipal = `
INSERT INTO principals (tenant_id, principal_id, name, scopes, fingerprint, created_at, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
RETURNING ` + principalColumns

const sqlPrincipalFingerprint = `SELECT fingerprint = $3 FROM principals WHERE tenant_id = $1 AND principal_id = $2`

func (s *Store) createPrincipalTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.PrincipalID, want NewPrincipal) (p Principal, replayed bool, err error) {
	digest := fingerprint("principal", want.Name, strings.Join(want.Scopes, " "))
	rows, _ := tx.Query(ctx, sqlCreatePrincipal, tenant, id, want.Name, want.Scopes, digest, s.now(), zeronull.UUID(want.by))
	p, err = pgx.CollectExactlyOneRow(rows, scanPrincipal)
	if !errors.Is(err, pgx.ErrNoRows) {
		return p, false, err
	}
	var same bool
	err = tx.QueryRow(ctx, sqlPrincipalFingerprint, tenant, id, digest).Scan(&same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Principal{}, false, domain.Conflict("principal_name_taken", "Another principal here has that name.").At("/name")
	case err != nil:
		return Principal{}, false, err
	case !same:
		return Principal{}, false, errKeyReused()
	}
	p, err = principalTx(ctx, tx, tenant, id)
	return p, true, err
}

const sqlPrincipal = `SELECT ` + principalColumns + ` FROM principals WHERE tenant_id = $1 AND principal_id = $2`

func principalTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.PrincipalID) (Principal, error) {
	rows, _ := tx.Query(ctx, sqlPrincipal, tenant, id)
	p, err := pgx.CollectExactlyOneRow(rows, scanPrincipal)
	if errors.Is(err, pgx.ErrNoRows) {
		return Principal{}, domain.NotFound("principal_not_found", "There is no principal of that id here.")
	}
	return p, err
}

const sqlPrincipals = `
SELECT ` + principalColumns + ` FROM principals
 WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3`

// Principals lists a tenant's principals by name, disabled ones too. The
// position is the last name; more tells that others follow. Errors: forbidden;
// not found tenant_not_found.
func (s *Store) Principals(ctx context.Context, caller Scope, tenant domain.TenantID, page List[string]) (principals []Principal, more bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return nil, false, err
	}
	if _, err := s.tenant(ctx, tenant); err != nil {
		return nil, false, err
	}
	return s.principals(ctx, tenant, page)
}

func (s *Store) principals(ctx context.Context, tenant domain.TenantID, page List[string]) (principals []Principal, more bool, err error) {
	err = s.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlPrincipals, tenant, page.After, page.limit()+1)
		principals, err = pgx.CollectRows(rows, scanPrincipal)
		return err
	})
	principals, more = cut(principals, page.limit())
	return principals, more, err
}

// DisablePrincipal ends a principal for good: its keys buy nothing and its
// tokens are refused, on every process within the poll. Disabling it again
// changes nothing. Errors: forbidden; not found tenant_not_found,
// principal_not_found.
func (s *Store) DisablePrincipal(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.PrincipalID) (p Principal, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Principal{}, err
	}
	if _, err := s.tenant(ctx, tenant); err != nil {
		return Principal{}, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		p, err = s.disablePrincipalTx(ctx, tx, tenant, id)
		return err
	})
	return p, err
}

const sqlDisablePrincipal = `
UPDATE principals SET disabled_at = $3
 WHERE tenant_id = $1 AND principal_id = $2 AND disabled_at IS NULL
RETURNING ` + principalColumns

func (s *Store) disablePrincipalTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.PrincipalID) (Principal, error) {
	rows, _ := tx.Query(ctx, sqlDisablePrincipal, tenant, id, s.now())
	p, err := pgx.CollectExactlyOneRow(rows, scanPrincipal)
	if errors.Is(err, pgx.ErrNoRows) {
		return principalTx(ctx, tx, tenant, id)
	}
	if err != nil {
		return Principal{}, err
	}
	return p, s.revokeTx(ctx, tx, revocation{Tenant: tenant, Kind: revokedPrincipal, Subject: id})
}
