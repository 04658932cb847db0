package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// BeginVerification serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/verify.
func (s *server) BeginVerification(ctx context.Context, request BeginVerificationRequestObject) (BeginVerificationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	begun, err := s.migrations.BeginVerification(ctx, caller(ctx), tenant, migrationID(request.MigrationID),
		migrationHash(request.Body.PlanHash), migration.ReportKind(request.Body.Phase))
	if err != nil {
		return nil, err
	}
	encoded, err := encodeVerification(begun)
	if err != nil {
		return nil, err
	}
	return BeginVerification201JSONResponse{Body: encoded, Headers: BeginVerification201ResponseHeaders{CacheControl: noStore}}, nil
}

// EndVerification serves PUT /v1/tenants/{tenant_id}/migrations/{migration_id}/verifications/{report_id}.
func (s *server) EndVerification(ctx context.Context, request EndVerificationRequestObject) (EndVerificationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	seen, err := recode[migration.VerificationReport](request.Body)
	if err != nil {
		return nil, domain.Invalid("report_invalid", "A part of the report can't be read.").Because(err)
	}
	verdict, err := s.migrations.EndVerification(ctx, caller(ctx), tenant, migrationID(request.MigrationID), reportID(request.ReportID), seen)
	if err != nil {
		return nil, err
	}
	encoded, err := recode[VerificationVerdict](verdict)
	if err != nil {
		return nil, err
	}
	return EndVerification200JSONResponse(encoded), nil
}

// ScrubMigration serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/scrub.
func (s *server) ScrubMigration(ctx context.Context, request ScrubMigrationRequestObject) (ScrubMigrationResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	report, err := s.migrations.BeginScrub(ctx, caller(ctx), tenant, migrationID(request.MigrationID),
		migrationHash(request.Body.PlanHash), decodeBudget(orZero(request.Body.Budget)))
	if err != nil {
		return nil, err
	}
	// Without this a worker finds it a little later, by its schedule.
	work := migration.OpenWork{Tenant: report.Tenant, Migration: report.Migration, ID: domain.RunID(report.ID), Scrub: true, Build: report.Build}
	if err := s.jobs.MigrationScrub(ctx, work); err != nil {
		s.log.WarnContext(ctx, "nobody was asked to begin the scrub at once", "error", err)
	}
	encoded, err := encodeMigrationReport(report)
	if err != nil {
		return nil, err
	}
	return ScrubMigration202JSONResponse(encoded), nil
}

// decodeBudget: what is absent is no bound, and of the time the domain's own.
func decodeBudget(b ScrubBudget) migration.ScrubBudget {
	return migration.ScrubBudget{
		Bodies: orZero(b.Bodies), Bytes: orZero(b.Bytes), Duration: time.Duration(orZero(b.DurationSeconds)) * time.Second,
	}
}

func encodeVerification(v migration.Verification) (encoded Verification, err error) {
	encoded = Verification{
		Limits: ReadLimits{
			PageRecords: v.Limits.PageRecords, Points: v.Limits.Points, Attempts: v.Limits.Attempts,
			RequestSeconds: wholeSeconds(v.Limits.Request), PhaseSeconds: wholeSeconds(v.Limits.Phase), ResponseBytes: v.Limits.ResponseBytes,
		},
		CoveredCollections: v.Of,
		Expected:           encodeRuntime(v.Expected),
		Token:              encodeToken(v.Token),
	}
	if encoded.Report, err = encodeMigrationReport(v.Report); err != nil {
		return Verification{}, err
	}
	if encoded.Collections, err = recodeAll[ReadCollection](v.Collections); err != nil {
		return Verification{}, err
	}
	encoded.Points, err = recodeAll[RecordName](v.Points)
	return encoded, err
}
