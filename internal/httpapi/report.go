package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// GetIdentityReport serves GET /v1/tenants/{tenant_id}/identity/report.
func (s *server) GetIdentityReport(ctx context.Context, request GetIdentityReportRequestObject) (GetIdentityReportResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	// The directory knows no tenants: to it, one that isn't there has nothing.
	if _, err := s.administration.Tenant(ctx, caller(ctx), id); err != nil {
		return nil, err
	}
	report, err := s.directory.Report(ctx, id)
	if err != nil {
		return nil, err
	}
	return GetIdentityReport200JSONResponse(encodeReport(report)), nil
}

// OpenIdentity serves POST /v1/tenants/{tenant_id}/identity/open.
func (s *server) OpenIdentity(ctx context.Context, request OpenIdentityRequestObject) (OpenIdentityResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.Tenant(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	if tenant.IdentityState != tenancy.IdentityOpen {
		if err := s.demandReport(ctx, id, request.Body.ReportHash); err != nil {
			return nil, err
		}
	}
	// A line that is imported between the report and the opening has had every
	// check that one has which is imported behind it.
	tenant, err = s.administration.OpenIdentity(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return OpenIdentity200JSONResponse{Body: encodeTenant(tenant), Headers: OpenIdentity200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

// demandReport fails unless the directory is now as the report of that hash says,
// and as it must be.
func (s *server) demandReport(ctx context.Context, tenant domain.TenantID, hash string) error {
	report, err := s.directory.Report(ctx, tenant)
	switch {
	case err != nil:
		return err
	case report.Hash != hash:
		return domain.Conflict("report_changed", "The directory is not what the report of this hash says, or not any more. Get the report again and look at it.").At("/report_hash")
	case !report.Openable:
		return domain.Conflict("namespace_not_openable", "Something stands in the way of opening the namespace: the report's obstacles say what.")
	}
	return nil
}

func encodeReport(r identity.Report) IdentityReport {
	return IdentityReport{
		Records: encodeAll(r.Records, func(c identity.RecordCount) RecordCount {
			return RecordCount{Family: string(c.Family), Status: c.Status, Count: c.Count}
		}),
		Keys: encodeAll(r.Keys, func(c identity.KeyCount) KeyCount {
			return KeyCount{Family: string(c.Family), Count: c.Count}
		}),
		UserCodes:         UserCodeCount{Live: r.Codes.Live, Past: r.Codes.Past},
		PendingOperations: r.Pending,
		ResidualClaims:    r.Residue,
		Events:            r.Events,
		Violations:        r.Violations,
		Found:             encodeAll(r.Found, encodeViolation),
		ReportHash:        r.Hash,
		Openable:          r.Openable,
		Obstacles:         encodeAll(r.Obstacles, func(o identity.Obstacle) string { return string(o) }),
	}
}

func encodeViolation(v identity.Violation) Violation {
	encoded := Violation{Kind: string(v.Kind), Database: v.Database, Bucket: v.Bucket(), Detail: v.Detail}
	if !v.Record.IsZero() {
		encoded.RecordID = textOrNil(v.Record.String())
	}
	return encoded
}
