package limits

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Control is what the package needs of tenancy.Store.
type Control interface {
	DemandTenant(ctx context.Context, caller tenancy.Scope, scope string, id domain.TenantID) error
	ControlTx(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
	ControlRead(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
}

// Store keeps what operators set, and what was counted.
type Store struct {
	control Control
	now     func() time.Time
}

// NewStore makes the store. The clock stamps rows.
func NewStore(control Control, now func() time.Time) *Store { return &Store{control, now} }

const limitColumns = `requests_per_second, concurrent_requests, waiting_requests, entries_per_second, import_rows,
       accounts, devices, worlds, body_bytes, revision`

const sqlLimits = `SELECT ` + limitColumns + ` FROM tenant_limits WHERE tenant_id = $1`

func scanSet(row pgx.CollectableRow) (s Set, err error) {
	err = row.Scan(&s.RequestsPerSecond, &s.ConcurrentRequests, &s.WaitingRequests, &s.EntriesPerSecond, &s.ImportRows,
		&s.Accounts, &s.Devices, &s.Worlds, &s.BodyBytes, &s.Revision)
	return s, err
}

// Limits gives what is set for a tenant. Errors: forbidden; not found
// tenant_not_found.
func (s *Store) Limits(ctx context.Context, caller tenancy.Scope, tenant domain.TenantID) (set Set, err error) {
	if err := s.control.DemandTenant(ctx, caller, tenancy.OperatorTenants, tenant); err != nil {
		return Set{}, err
	}
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		set, err = limitsTx(ctx, tx, tenant)
		return err
	})
	return set, err
}

func limitsTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID) (Set, error) {
	rows, _ := tx.Query(ctx, sqlLimits, tenant)
	set, err := pgx.CollectExactlyOneRow(rows, scanSet)
	if errors.Is(err, pgx.ErrNoRows) {
		return Set{Revision: 1}, nil
	}
	return set, err
}

// sqlFirstLimits and sqlNextLimits write nothing where somebody else was faster.
const (
	sqlFirstLimits = `
INSERT INTO tenant_limits (tenant_id, requests_per_second, concurrent_requests, waiting_requests, entries_per_second, import_rows,
       accounts, devices, worlds, body_bytes, revision, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 + 1, $12)
ON CONFLICT (tenant_id) DO NOTHING`

	sqlNextLimits = `
UPDATE tenant_limits
   SET requests_per_second = $2, concurrent_requests = $3, waiting_requests = $4, entries_per_second = $5, import_rows = $6,
       accounts = $7, devices = $8, worlds = $9, body_bytes = $10, revision = revision + 1, updated_at = $12
 WHERE tenant_id = $1 AND revision = $11`
)

// SetLimits replaces what is set for a tenant, if that is at want.Revision still,
// and gives it at its next. Every process obeys it within RefreshEvery.
//
// Errors: forbidden; invalid limit_invalid; not found tenant_not_found;
// precondition failed revision_stale; unavailable, outcome unknown.
func (s *Store) SetLimits(ctx context.Context, caller tenancy.Scope, tenant domain.TenantID, want Set) (Set, error) {
	if err := s.control.DemandTenant(ctx, caller, tenancy.OperatorTenants, tenant); err != nil {
		return Set{}, err
	}
	if err := want.check(); err != nil {
		return Set{}, err
	}
	statement := sqlNextLimits
	if want.Revision == 1 {
		statement = sqlFirstLimits
	}
	err := s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, statement, tenant, want.RequestsPerSecond, want.ConcurrentRequests, want.WaitingRequests,
			want.EntriesPerSecond, want.ImportRows, want.Accounts, want.Devices, want.Worlds, want.BodyBytes, want.Revision, s.now())
		if err == nil && tag.RowsAffected() == 0 {
			return domain.PreconditionFailed("revision_stale", "The limits have changed meanwhile. Read them again, and decide anew.")
		}
		return err
	})
	if err != nil {
		return Set{}, err
	}
	want.Revision++
	return want, nil
}

// Counted is a tenant's usage on all data databases.
type Counted struct {
	Usage
	At     time.Time // of the oldest count; zero while a database has none
	Newest time.Time // of the newest count of a database; zero without any
}

const sqlUsage = `
SELECT coalesce(sum(accounts), 0)::bigint, coalesce(sum(devices), 0)::bigint, coalesce(sum(worlds), 0)::bigint,
       coalesce(sum(body_bytes), 0)::bigint, min(counted_at), max(counted_at), count(counted_at)
  FROM tenant_usage WHERE tenant_id = $1 AND database = ANY ($2)`

func usageTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, databases []string) (c Counted, err error) {
	var oldest, newest *time.Time
	var counted int
	err = tx.QueryRow(ctx, sqlUsage, tenant, databases).
		Scan(&c.Accounts, &c.Devices, &c.Worlds, &c.BodyBytes, &oldest, &newest, &counted)
	if oldest != nil && counted == len(databases) {
		c.At = oldest.UTC()
	}
	if newest != nil {
		c.Newest = newest.UTC()
	}
	return c, err
}

// Usage gives what was counted of a tenant on the data databases of these names.
// Errors: forbidden; not found tenant_not_found.
func (s *Store) Usage(ctx context.Context, caller tenancy.Scope, tenant domain.TenantID, databases []string) (c Counted, err error) {
	if err := s.control.DemandTenant(ctx, caller, tenancy.OperatorTenants, tenant); err != nil {
		return Counted{}, err
	}
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		c, err = usageTx(ctx, tx, tenant, databases)
		return err
	})
	return c, err
}

// read is what a process holds a tenant to.
func (s *Store) read(ctx context.Context, tenant domain.TenantID, databases []string) (set Set, c Counted, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		if set, err = limitsTx(ctx, tx, tenant); err != nil {
			return err
		}
		c, err = usageTx(ctx, tx, tenant, databases)
		return err
	})
	return set, c, err
}
