package migration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Request asks for a migration. Nothing moves by it: it is planned, approved and
// activated by operators.
type Request struct {
	Kind        Kind
	Collections []string // names; nil for all, and for those that will be made
	Key         string   // an idempotency key; "" for none
}

const (
	maxCollections = 1000 // that a request names
	maxOpen        = 100  // migrations of a tenant that aren't over
)

var (
	errKind        = domain.Invalid("migration_kind_unknown", "A migration is of the kind record_bodies or rehydrate.").At("/kind")
	errCollections = domain.Invalid("collections_invalid", "A migration names 1 to 1,000 different collections, or none for all.").At("/collections")
	errTooMany     = domain.Conflict("migrations_too_many", "A tenant has 100 migrations at most that aren't over. Have some of them aborted.")
	errReused      = domain.Invalid("idempotency_key_reused", "The idempotency key was used for another request.")
	errNotFound    = domain.NotFound("migration_not_found", "There is no migration of this id.")
)

const sqlRequest = `
INSERT INTO migrations AS m (tenant_id, migration_id, kind, state, revision, collections, former_hashes, requested_by, requester, fingerprint,
       requested_at, changed_at)
SELECT $1, $2, $3, 'requested', 1, $4, '{}', $5, $6, $7, now.at, now.at
  FROM (SELECT clock_timestamp() AS at) now
 WHERE (SELECT count(*) FROM migrations o WHERE o.tenant_id = $1 AND o.state NOT IN ('closed', 'aborted')) < $8
ON CONFLICT (tenant_id, migration_id) DO NOTHING
RETURNING ` + migrationColumns

const sqlMigration = `SELECT ` + migrationColumns + ` FROM migrations m WHERE m.tenant_id = $1 AND m.migration_id = $2`

// Ask asks for a migration of a tenant: by its own principal, or by an operator.
//
// Errors: invalid, conflict migrations_too_many, not found collection_not_found,
// unavailable, outcome unknown.
func (s *Service) Ask(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, req Request) (made Migration, replayed bool, err error) {
	if req.Kind != RecordBodies && req.Kind != Rehydrate {
		return Migration{}, false, errKind
	}
	if req.Collections, err = s.named(ctx, tenant, req.Collections); err != nil {
		return Migration{}, false, err
	}
	id := s.newID(scope, tenant, req.Key)
	fingerprint := req.fingerprint()
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlRequest, tenant, id, req.Kind, req.Collections, scope.Principal, scope.Name, fingerprint, maxOpen)
		made, err = pgx.CollectExactlyOneRow(rows, scanMigration)
		if err == nil {
			return recordTx(ctx, tx, &made, "", step{act: "request", by: actorOf(scope)}, made.RequestedAt)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		made, err = migrationTx(ctx, tx, tenant, id)
		switch {
		case errors.Is(err, errNotFound):
			return errTooMany
		case err != nil:
			return err
		case !bytes.Equal(made.fingerprint, fingerprint):
			return errReused
		}
		replayed = true
		return nil
	})
	return made, replayed, err
}

// named folds the names of collections, each of which must be there.
func (s *Service) named(ctx context.Context, tenant domain.TenantID, names []string) ([]string, error) {
	if names == nil {
		return nil, nil
	}
	folded := make([]string, 0, len(names))
	for _, name := range names {
		folded = append(folded, record.FoldName(name))
	}
	slices.Sort(folded)
	if n := len(folded); n == 0 || n > maxCollections || len(slices.Compact(slices.Clone(folded))) < n {
		return nil, errCollections
	}
	for _, name := range folded {
		if _, err := s.records.Collection(ctx, tenancy.Scope{Tenant: tenant}, name); err != nil {
			return nil, err
		}
	}
	return folded, nil
}

// newID derives the migration's id from who asks and the idempotency key, so that
// a retry meets the same one.
func (s *Service) newID(scope tenancy.Scope, tenant domain.TenantID, key string) domain.MigrationID {
	if key == "" {
		return domain.NewID[domain.MigrationKind](time.Now())
	}
	return domain.DeriveID[domain.MigrationKind](s.idKey, "migration", tenant.String(), scope.Principal.String(), key)
}

func (r *Request) fingerprint() []byte {
	text, err := json.Marshal([]any{r.Kind, r.Collections})
	if err != nil {
		panic(err) // texts always marshal
	}
	sum := sha256.Sum256(text)
	return sum[:]
}

func migrationTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.MigrationID) (Migration, error) {
	rows, _ := tx.Query(ctx, sqlMigration, tenant, id)
	m, err := pgx.CollectExactlyOneRow(rows, scanMigration)
	if errors.Is(err, pgx.ErrNoRows) {
		return Migration{}, errNotFound
	}
	return m, err
}

// Migration gives a tenant's migration.
//
// Errors: not found migration_not_found, unavailable.
func (s *Service) Migration(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (m Migration, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		m, err = migrationTx(ctx, tx, tenant, id)
		return err
	})
	return m, err
}

const sqlMigrations = `
SELECT ` + migrationColumns + ` FROM migrations m WHERE m.tenant_id = $1 AND m.migration_id > $2 ORDER BY m.migration_id LIMIT $3`

// Migrations lists a tenant's migrations by id, and tells whether more follow.
//
// Errors: unavailable.
func (s *Service) Migrations(ctx context.Context, tenant domain.TenantID, page tenancy.List[domain.MigrationID]) (all []Migration, more bool, err error) {
	limit := min(max(page.Limit, 1), maxOpen)
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlMigrations, tenant, page.After, limit+1)
		all, err = pgx.CollectRows(rows, scanMigration)
		return err
	})
	more = len(all) > limit
	return all[:min(len(all), limit)], more, err
}
