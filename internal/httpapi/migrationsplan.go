package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// PreviewMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/preview.
func (s *server) PreviewMigration(ctx context.Context, request PreviewMigrationRequestObject) (PreviewMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	want := migration.Preview{Qualification: migrationHash(request.Body.Qualification), FreeBytes: orZero(request.Body.FreeBytes)}
	if request.Body.Caps != nil {
		caps := decodeCaps(*request.Body.Caps)
		want.Caps = &caps
	}
	if p := request.Body.Prices; p != nil {
		want.Prices = &migration.Prices{ClassA: p.ClassAPerMillion, ClassB: p.ClassBPerMillion, Storage: p.StoragePerGbMonth}
	}
	m, plan, err := s.migrations.Preview(ctx, caller(ctx), tenant, migrationID(request.MigrationID), want)
	if err != nil {
		return nil, err
	}
	encoded, err := encodePlan(plan)
	if err != nil {
		return nil, err
	}
	return PreviewMigration200JSONResponse{Migration: encodeMigration(m), Plan: encoded}, nil
}

// GetMigrationPlan serves GET /v1/tenants/{tenant_id}/migrations/{migration_id}/plans/{plan_hash}.
func (s *server) GetMigrationPlan(ctx context.Context, request GetMigrationPlanRequestObject) (GetMigrationPlanResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	plan, err := s.migrations.Plan(ctx, tenant, migrationID(request.MigrationID), migrationHash(request.PlanHash))
	if err != nil {
		return nil, err
	}
	encoded, err := encodePlan(plan)
	if err != nil {
		return nil, err
	}
	return GetMigrationPlan200JSONResponse(encoded), nil
}

// GetMigrationDrift serves GET /v1/tenants/{tenant_id}/migrations/{migration_id}/drift.
func (s *server) GetMigrationDrift(ctx context.Context, request GetMigrationDriftRequestObject) (GetMigrationDriftResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	found, err := s.migrations.Drift(ctx, tenant, migrationID(request.MigrationID))
	if err != nil {
		return nil, err
	}
	return GetMigrationDrift200JSONResponse{
		Drift: encodeAll(found, func(d migration.Drift) PlanDrift { return PlanDrift{Field: d.Field, Was: d.Was, Is: d.Is} }),
	}, nil
}

// ApproveMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/approve.
func (s *server) ApproveMigration(ctx context.Context, request ApproveMigrationRequestObject) (ApproveMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.Approve(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.Hash))
	if err != nil {
		return nil, err
	}
	return ApproveMigration200JSONResponse(encodeMigration(m)), nil
}

// encodePlan fails only on a plan that JSON can't spell, which none is that was read.
func encodePlan(p migration.Plan) (MigrationPlan, error) {
	packet, err := recode[MigrationPacket](p.Packet)
	if err != nil {
		return MigrationPlan{}, err
	}
	observations, err := recode[MigrationObservations](p.Observations)
	if err != nil {
		return MigrationPlan{}, err
	}
	return MigrationPlan{
		PlanHash: p.Hash.String(), Packet: packet, Text: p.Text, Observations: observations,
		PreviewedBy: encodeMigrationActor(migration.Actor{ID: p.PreviewedBy, Name: p.Previewer}),
		PreviewedAt: p.PreviewedAt.UTC(), CountedAt: p.CountedAt.UTC(),
	}, nil
}

func decodeCaps(c MigrationCaps) migration.Caps {
	return migration.Caps{Inspected: c.InspectedRows, Records: c.Records, Bytes: c.Bytes, InFlight: c.BodiesInFlight}
}
