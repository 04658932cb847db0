package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// RequestMigration serves POST /v1/migrations.
func (s *server) RequestMigration(ctx context.Context, request RequestMigrationRequestObject) (RequestMigrationResponseObject, error) {
	made, again, err := s.migrations.Ask(ctx, caller(ctx), caller(ctx).Tenant, migration.Request{
		Kind: migration.Kind(request.Body.Kind), Collections: orZero(request.Body.Collections), Key: orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return RequestMigration201JSONResponse{
		Body:    encodeMigration(made),
		Headers: RequestMigration201ResponseHeaders{IdempotentReplayed: replayed(again)},
	}, nil
}

// ListMigrations serves GET /v1/migrations.
func (s *server) ListMigrations(ctx context.Context, request ListMigrationsRequestObject) (ListMigrationsResponseObject, error) {
	page, err := s.migrationPage(ctx, caller(ctx).Tenant, request.Params.Cursor, request.Params.Limit)
	if err != nil {
		return nil, err
	}
	return ListMigrations200JSONResponse(page), nil
}

// migrationPage is a page of a tenant's migrations. The position in the list is the
// last one's id.
func (s *server) migrationPage(ctx context.Context, tenant domain.TenantID, cursor *string, limit *int64) (MigrationPage, error) {
	list := listing{tenant: tenant, name: "migrations"}
	after, err := resume(s.cursors, list, cursor, byID[domain.MigrationKind])
	if err != nil {
		return MigrationPage{}, err
	}
	all, more, err := s.migrations.Migrations(ctx, tenant, tenancy.List[domain.MigrationID]{After: after, Limit: pageSize(limit)})
	if err != nil {
		return MigrationPage{}, err
	}
	page := MigrationPage{Migrations: encodeAll(all, encodeMigration)}
	if len(all) > 0 {
		page.NextCursor = nextCursor(s.cursors, list, more, all[len(all)-1].ID[:])
	}
	return page, nil
}

// GetMigration serves GET /v1/migrations/{migration_id}.
func (s *server) GetMigration(ctx context.Context, request GetMigrationRequestObject) (GetMigrationResponseObject, error) {
	status, err := s.migrationStatus(ctx, caller(ctx).Tenant, migrationID(request.MigrationID))
	if err != nil {
		return nil, err
	}
	return GetMigration200JSONResponse(status), nil
}

func (s *server) migrationStatus(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (MigrationStatus, error) {
	m, err := s.migrations.Migration(ctx, tenant, id)
	if err != nil {
		return MigrationStatus{}, err
	}
	progress, err := s.migrations.Progress(ctx, m)
	if err != nil {
		return MigrationStatus{}, err
	}
	transitions, err := s.migrations.Transitions(ctx, tenant, id)
	if err != nil {
		return MigrationStatus{}, err
	}
	return MigrationStatus{
		Migration: encodeMigration(m), Progress: encodeProgress(progress), Transitions: encodeAll(transitions, encodeTransition),
	}, nil
}
