package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// GetMigrationReport serves GET /v1/tenants/{tenant_id}/migrations/{migration_id}/reports/{report_id}.
func (s *server) GetMigrationReport(ctx context.Context, request GetMigrationReportRequestObject) (GetMigrationReportResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	report, err := s.migrations.ReportOf(ctx, tenant, migrationID(request.MigrationID), reportID(request.ReportID))
	if err != nil {
		return nil, err
	}
	encoded, err := encodeMigrationReport(report)
	if err != nil {
		return nil, err
	}
	return GetMigrationReport200JSONResponse(encoded), nil
}

func encodeReports(all []migration.Report) ([]MigrationReport, error) {
	encoded := make([]MigrationReport, len(all))
	for i, r := range all {
		var err error
		if encoded[i], err = encodeMigrationReport(r); err != nil {
			return nil, err
		}
	}
	return encoded, nil
}

func encodeMigrationReport(r migration.Report) (encoded MigrationReport, err error) {
	encoded = MigrationReport{
		ReportID: r.ID.String(), Kind: string(r.Kind), PlanHash: r.PlanHash.String(), Build: r.Build, Actor: encodeMigrationActor(r.Actor),
		StartedAt: r.StartedAt.UTC(), Deadline: r.Deadline.UTC(), EndedAt: utcOrNil(&r.EndedAt),
	}
	if !r.EndedAt.IsZero() {
		encoded.Passed = &r.Passed
	}
	if r.Verdict != nil {
		verdict, err := recode[VerificationVerdict](r.Verdict)
		if err != nil {
			return MigrationReport{}, err
		}
		encoded.Verdict = &verdict
	}
	if r.Observed != nil {
		observed, err := recode[VerificationReport](r.Observed)
		if err != nil {
			return MigrationReport{}, err
		}
		encoded.Observed = &observed
	}
	if r.Scrub != nil {
		encoded.Scrub, err = encodeScrub(r.Scrub)
	}
	return encoded, err
}

func encodeScrub(p *migration.ScrubProgress) (*ScrubProgress, error) {
	wrong, err := recodeAll[ScrubFinding](p.FirstWrong)
	if err != nil {
		return nil, err
	}
	unreached, err := recodeAll[ScrubFinding](p.FirstUnreached)
	if err != nil {
		return nil, err
	}
	encoded := &ScrubProgress{
		Collection: textOrNil(p.Collection), Key: textOrNil(p.Key), Section: textOrNil(p.Section),
		Counted: p.Counted, OfBodies: p.OfBodies, OfBytes: p.OfBytes, Sections: p.Sections, Bodies: p.Bodies, Bytes: p.Bytes,
		Corrupt: p.Corrupt, Missing: p.Missing, Unreachable: p.Unreachable, Changed: p.Changed, FirstWrong: wrong, FirstUnreached: unreached,
		Covered: p.Covered, Spent: textOrNil(p.Spent), Stopped: p.Stopped, Budget: encodeBudget(p.Budget),
	}
	if p.Continues != nil {
		encoded.Continues = textOrNil(p.Continues.String())
	}
	return encoded, nil
}

func encodeBudget(b migration.ScrubBudget) ScrubBudget {
	return ScrubBudget{Bodies: countOrNil(b.Bodies), Bytes: countOrNil(b.Bytes), DurationSeconds: countOrNil(int64(wholeSeconds(b.Duration)))}
}

// countOrNil is nil where there is no bound.
func countOrNil(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
