package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// ListQualifications serves GET /v1/qualifications.
func (s *server) ListQualifications(ctx context.Context, request ListQualificationsRequestObject) (ListQualificationsResponseObject, error) {
	all, err := s.migrations.Qualifications(ctx, orZero(request.Params.Build))
	if err != nil {
		return nil, err
	}
	return ListQualifications200JSONResponse{Qualifications: encodeAll(all, func(q migration.Qualified) QualificationSummary {
		return QualificationSummary{ReportHash: q.Hash.String(), Build: q.Build, Passed: q.Passed, QualifiedAt: q.At.UTC()}
	})}, nil
}

// GetQualification serves GET /v1/qualifications/{report_hash}.
func (s *server) GetQualification(ctx context.Context, request GetQualificationRequestObject) (GetQualificationResponseObject, error) {
	hash := migrationHash(request.ReportHash)
	found, err := s.migrations.Qualification(ctx, hash)
	if err != nil {
		return nil, err
	}
	text, err := found.Canonical()
	if err != nil {
		return nil, err
	}
	report, err := recode[QualificationReport](found)
	if err != nil {
		return nil, err
	}
	return GetQualification200JSONResponse{ReportHash: hash.String(), Report: report, Text: string(text)}, nil
}
