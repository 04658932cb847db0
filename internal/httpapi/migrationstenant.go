package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// RequestTenantMigration serves POST /v1/tenants/{tenant_id}/migrations.
func (s *server) RequestTenantMigration(ctx context.Context, request RequestTenantMigrationRequestObject) (RequestTenantMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	// The domain knows no tenants: to it, one that isn't there has nothing.
	if err := s.administration.DemandTenant(ctx, caller(ctx), tenancy.OperatorMigrate, tenant); err != nil {
		return nil, err
	}
	made, again, err := s.migrations.Ask(ctx, caller(ctx), tenant, migration.Request{
		Kind: migration.Kind(request.Body.Kind), Collections: orZero(request.Body.Collections), Key: orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return RequestTenantMigration201JSONResponse{
		Body:    encodeMigration(made),
		Headers: RequestTenantMigration201ResponseHeaders{IdempotentReplayed: replayed(again)},
	}, nil
}

// ListTenantMigrations serves GET /v1/tenants/{tenant_id}/migrations.
func (s *server) ListTenantMigrations(ctx context.Context, request ListTenantMigrationsRequestObject) (ListTenantMigrationsResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	if err := s.administration.DemandTenant(ctx, caller(ctx), tenancy.OperatorRead, tenant); err != nil {
		return nil, err
	}
	page, err := s.migrationPage(ctx, tenant, request.Params.Cursor, request.Params.Limit)
	if err != nil {
		return nil, err
	}
	return ListTenantMigrations200JSONResponse(page), nil
}

// GetTenantMigration serves GET /v1/tenants/{tenant_id}/migrations/{migration_id}.
func (s *server) GetTenantMigration(ctx context.Context, request GetTenantMigrationRequestObject) (GetTenantMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	id := migrationID(request.MigrationID)
	status, err := s.migrationStatus(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	runs, err := s.migrations.Runs(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	reports, err := s.migrations.Reports(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	encoded, err := encodeReports(reports)
	if err != nil {
		return nil, err
	}
	return GetTenantMigration200JSONResponse{
		Migration: status.Migration, Progress: status.Progress, Transitions: status.Transitions,
		Runs: encodeAll(runs, encodeRun), Reports: encoded,
	}, nil
}
