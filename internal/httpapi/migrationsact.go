package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// ActivateMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/activate.
func (s *server) ActivateMigration(ctx context.Context, request ActivateMigrationRequestObject) (ActivateMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	activated, err := s.migrations.Activate(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.PlanHash))
	if err != nil {
		return nil, err
	}
	return ActivateMigration200JSONResponse{
		Migration: encodeMigration(activated.Migration),
		Collections: encodeAll(activated.Collections, func(c migration.AcceptedCollection) AcceptedCollection {
			return AcceptedCollection{Collection: c.Name, Frontier: c.Frontier, At: c.AcceptedAt.UTC()}
		}),
		PointOfNoReturn: activated.PointOfNoReturn,
	}, nil
}

// RunMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/run.
func (s *server) RunMigration(ctx context.Context, request RunMigrationRequestObject) (RunMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	run, err := s.migrations.Run(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.PlanHash))
	if err != nil {
		return nil, err
	}
	// Without this a worker finds it a little later, by its schedule.
	work := migration.OpenWork{Tenant: run.Tenant, Migration: run.Migration, ID: run.ID, Build: run.Build}
	if err := s.jobs.MigrationRun(ctx, work); err != nil {
		s.log.WarnContext(ctx, "nobody was asked to begin the run at once", "error", err)
	}
	return RunMigration202JSONResponse(encodeRun(run)), nil
}

// PauseMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/pause.
func (s *server) PauseMigration(ctx context.Context, request PauseMigrationRequestObject) (PauseMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.Pause(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.PlanHash))
	if err != nil {
		return nil, err
	}
	return PauseMigration200JSONResponse(encodeMigration(m)), nil
}

// ResumeMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/resume.
func (s *server) ResumeMigration(ctx context.Context, request ResumeMigrationRequestObject) (ResumeMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.Resume(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.PlanHash))
	if err != nil {
		return nil, err
	}
	return ResumeMigration200JSONResponse(encodeMigration(m)), nil
}

// AbortMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/abort.
func (s *server) AbortMigration(ctx context.Context, request AbortMigrationRequestObject) (AbortMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.Abort(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(orZero(request.Body.PlanHash)))
	if err != nil {
		return nil, err
	}
	return AbortMigration200JSONResponse(encodeMigration(m)), nil
}

// LowerMigrationCaps serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/caps.
func (s *server) LowerMigrationCaps(ctx context.Context, request LowerMigrationCapsRequestObject) (LowerMigrationCapsResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.LowerCaps(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.PlanHash), decodeCaps(request.Body.Caps))
	if err != nil {
		return nil, err
	}
	return LowerMigrationCaps200JSONResponse(encodeMigration(m)), nil
}

// CloseMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/close.
func (s *server) CloseMigration(ctx context.Context, request CloseMigrationRequestObject) (CloseMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.Close(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.PlanHash), request.Body.Decision)
	if err != nil {
		return nil, err
	}
	return CloseMigration200JSONResponse(encodeMigration(m)), nil
}
