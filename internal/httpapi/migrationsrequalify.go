package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// PreviewRequalification serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/requalify-preview.
func (s *server) PreviewRequalification(ctx context.Context, request PreviewRequalificationRequestObject) (PreviewRequalificationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	previous, qualification := migrationHash(request.Body.PlanHash), migrationHash(request.Body.Qualification)
	envelope, err := s.migrations.RequalifyPreview(ctx, caller(ctx), tenant, migrationID(request.MigrationID), previous, qualification)
	if err != nil {
		return nil, err
	}
	encoded, err := encodeEnvelope(envelope)
	if err != nil {
		return nil, err
	}
	return PreviewRequalification200JSONResponse(encoded), nil
}

// GetMigrationEnvelope serves GET /v1/tenants/{tenant_id}/migrations/{migration_id}/envelopes/{envelope_hash}.
func (s *server) GetMigrationEnvelope(ctx context.Context, request GetMigrationEnvelopeRequestObject) (GetMigrationEnvelopeResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	envelope, err := s.migrations.Envelope(ctx, tenant, migrationID(request.MigrationID), migrationHash(request.EnvelopeHash))
	if err != nil {
		return nil, err
	}
	encoded, err := encodeEnvelope(envelope)
	if err != nil {
		return nil, err
	}
	return GetMigrationEnvelope200JSONResponse(encoded), nil
}

// RequalifyMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/requalify.
func (s *server) RequalifyMigration(ctx context.Context, request RequalifyMigrationRequestObject) (RequalifyMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	m, err := s.migrations.Requalify(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migrationHash(request.Body.EnvelopeHash))
	if err != nil {
		return nil, err
	}
	return RequalifyMigration200JSONResponse(encodeMigration(m)), nil
}

func encodeEnvelope(e migration.Envelope) (MigrationEnvelope, error) {
	text, err := e.Canonical()
	if err != nil {
		return MigrationEnvelope{}, err
	}
	hash, err := e.Hash()
	if err != nil {
		return MigrationEnvelope{}, err
	}
	next, err := recode[MigrationPacket](e.Next)
	if err != nil {
		return MigrationEnvelope{}, err
	}
	return MigrationEnvelope{
		EnvelopeHash: hash.String(), Text: string(text), PreviousPlanHash: e.Previous.String(),
		NextPlanHash: e.NextHash.String(), NextPlan: next, CheckpointsHash: e.CheckpointsHash.String(),
		Collections: encodeAll(e.Checkpoints, func(c migration.Standing) string { return c.Collection }),
	}, nil
}
