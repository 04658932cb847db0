package tenancy

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The states of a tenant.
const (
	TenantProvisioning = "provisioning" // made, and not yet open on every data database
	TenantActive       = "active"
	TenantSuspended    = "suspended" // its calls are refused until an operator resumes it
	TenantDeleting     = "deleting"  // its calls are refused, and when its grace is over it is purged
	TenantPurging      = "purging"   // what it had is being deleted, and nothing leads back
	TenantPurged       = "purged"    // a tombstone
)

// Tenant is a customer. Revision grows by one with every change and is the
// ETag.
type Tenant struct {
	ID            domain.TenantID
	Name          string // unique, a slug
	State         string
	Layout        string
	IdentityState string // IdentityOpen, IdentityImporting
	HandlePolicy  string // "ascii", "unicode"
	RecordFormat  int16  // of new collections: RecordsInSQL, RecordsInObjects
	Hold          *Hold  // nil for a tenant that may be purged
	Revision      int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

const tenantColumns = `tenant_id, name, state, layout, identity_state, handle_policy, record_format, revision, created_at, updated_at,
       hold_reason, held_by, held_at`

func scanTenant(row pgx.CollectableRow) (Tenant, error) {
	var t Tenant
	var hold Hold
	err := row.Scan(&t.ID, &t.Name, &t.State, &t.Layout, &t.IdentityState, &t.HandlePolicy, &t.RecordFormat, &t.Revision, &t.CreatedAt, &t.UpdatedAt,
		(*zeronull.Text)(&hold.Reason), (*zeronull.Text)(&hold.By), (*zeronull.Timestamptz)(&hold.At))
	t.CreatedAt, t.UpdatedAt = t.CreatedAt.UTC(), t.UpdatedAt.UTC()
	if !hold.At.IsZero() {
		hold.At = hold.At.UTC()
		t.Hold = &hold
	}
	return t, err
}

// NewTenant asks for a tenant.
type NewTenant struct {
	Name           string // [a-z0-9][a-z0-9-]{0,62}
	HandlePolicy   string // "ascii", "unicode"
	IdentityState  string // IdentityOpen, or IdentityImporting to begin with an import; empty for open
	IdempotencyKey string // at most 255 characters; empty for none
}

var tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

func (want NewTenant) checked() (NewTenant, error) {
	if !tenantName.MatchString(want.Name) {
		return want, errTenantName()
	}
	if want.HandlePolicy != "ascii" && want.HandlePolicy != "unicode" {
		return want, domain.Invalid("handle_policy_unknown", `The handle policy is "ascii" or "unicode".`).At("/handle_policy")
	}
	switch want.IdentityState {
	case "":
		want.IdentityState = IdentityOpen
	case IdentityOpen, IdentityImporting:
	default:
		return want, domain.Invalid("identity_state_unknown", `A tenant's identity begins "open" or "importing".`).At("/identity_state")
	}
	return want, nil
}

// fingerprint leaves the state out when it is open, as it was before there was
// a choice: a retry must match what was made then.
func (want NewTenant) fingerprint() []byte {
	if want.IdentityState == IdentityOpen {
		return fingerprint("tenant", want.Name, want.HandlePolicy)
	}
	return fingerprint("tenant", want.Name, want.HandlePolicy, want.IdentityState)
}

// CreateTenant makes a tenant and opens it on every data database. It resumes:
// whoever gets an error repeats it with the same Idempotency-Key. replayed tells
// that the tenant was there already.
//
// Errors: forbidden; invalid (idempotency_key_reused, when the key was used with
// another request); conflict tenant_name_taken; unavailable; outcome unknown.
func (s *Store) CreateTenant(ctx context.Context, caller Scope, want NewTenant) (t Tenant, replayed bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, false, err
	}
	if want, err = want.checked(); err != nil {
		return Tenant{}, false, err
	}
	var id domain.TenantID
	if err := identify(ctx, s, caller, &id, "tenant", Operators, want.IdempotencyKey); err != nil {
		return Tenant{}, false, err
	}
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		t, replayed, err = s.createTenantTx(ctx, tx, id, want)
		return err
	})
	if err != nil || t.State != TenantProvisioning {
		return t, replayed, err
	}
	// A crash here leaves a tenant that is provisioning: nobody can call it, and
	// a retry, or a resume, opens it.
	t, err = s.openTenant(ctx, t)
	return t, replayed, err
}

// sqlCreateTenant does nothing when the id or the name is taken; which of them,
// a second read tells.
const sqlCreateTenant = `
INSERT INTO tenants (tenant_id, name, state, layout, identity_state, handle_policy, id_key, fingerprint, revision, created_at, updated_at)
VALUES ($1, $2, 'provisioning', $3, $4, $5, $6, $7, 1, $8, $8)
ON CONFLICT DO NOTHING
RETURNING ` + tenantColumns

const sqlTenantFingerprint = `SELECT fingerprint = $2 FROM tenants WHERE tenant_id = $1`

func (s *Store) createTenantTx(ctx context.Context, tx pgx.Tx, id domain.TenantID, want NewTenant) (t Tenant, replayed bool, err error) {
	idKey := make([]byte, 32)
	rand.Read(idKey)
	digest := want.fingerprint()
	rows, _ := tx.Query(ctx, sqlCreateTenant, id, want.Name, domain.Layout, want.IdentityState, want.HandlePolicy, idKey, digest, s.now())
	t, err = pgx.CollectExactlyOneRow(rows, scanTenant)
	if !errors.Is(err, pgx.ErrNoRows) {
		return t, false, err
	}
	var same bool
	err = tx.QueryRow(ctx, sqlTenantFingerprint, id, digest).Scan(&same)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Tenant{}, false, errTenantNameTaken()
	case err != nil:
		return Tenant{}, false, err
	case !same:
		return Tenant{}, false, errKeyReused()
	}
	t, err = tenantTx(ctx, tx, id)
	return t, true, err
}

// Tenant reads a tenant. Errors: forbidden; not found tenant_not_found.
func (s *Store) Tenant(ctx context.Context, caller Scope, id domain.TenantID) (t Tenant, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Tenant{}, err
	}
	return s.tenant(ctx, id)
}

// DemandTenant fails unless the tenant is there: for an operator with a scope by
// which it may see what a tenant has, though not the tenant itself. Errors:
// forbidden; not found tenant_not_found.
func (s *Store) DemandTenant(ctx context.Context, caller Scope, scope string, id domain.TenantID) error {
	if err := demand(caller, scope); err != nil {
		return err
	}
	_, err := s.tenant(ctx, id)
	return err
}

func (s *Store) tenant(ctx context.Context, id domain.TenantID) (t Tenant, err error) {
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		t, err = tenantTx(ctx, tx, id)
		return err
	})
	return t, err
}

const sqlTenant = `SELECT ` + tenantColumns + ` FROM tenants WHERE tenant_id = $1`

func tenantTx(ctx context.Context, tx pgx.Tx, id domain.TenantID) (Tenant, error) {
	rows, _ := tx.Query(ctx, sqlTenant, id)
	t, err := pgx.CollectExactlyOneRow(rows, scanTenant)
	return t, noTenant(err)
}

// noTenant says what is missing where a row is.
func noTenant(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.NotFound("tenant_not_found", "There is no tenant of that id.")
	}
	return err
}

const sqlTenants = `SELECT ` + tenantColumns + ` FROM tenants WHERE name > $1 ORDER BY name LIMIT $2`

// Tenants lists tenants by name. The position is the last name; more tells that
// others follow.
func (s *Store) Tenants(ctx context.Context, caller Scope, page List[string]) (tenants []Tenant, more bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return nil, false, err
	}
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlTenants, page.After, page.limit()+1)
		tenants, err = pgx.CollectRows(rows, scanTenant)
		return err
	})
	tenants, more = cut(tenants, page.limit())
	return tenants, more, err
}
