package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// DeleteTenant serves DELETE /v1/tenants/{tenant_id}.
func (s *server) DeleteTenant(ctx context.Context, request DeleteTenantRequestObject) (DeleteTenantResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	deletion, err := s.administration.AskDeletion(ctx, caller(ctx), id, revision)
	if err != nil {
		return nil, err
	}
	return DeleteTenant202JSONResponse(encodeDeletion(deletion)), nil
}

// GetTenantDeletion serves GET /v1/tenants/{tenant_id}/deletion.
func (s *server) GetTenantDeletion(ctx context.Context, request GetTenantDeletionRequestObject) (GetTenantDeletionResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	deletion, err := s.administration.Deletion(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetTenantDeletion200JSONResponse{
		Body: encodeDeletion(deletion), Headers: GetTenantDeletion200ResponseHeaders{ETag: etag(deletion.Tenant.Revision)},
	}, nil
}

// ApproveTenantDeletion serves POST /v1/tenants/{tenant_id}/deletion/approve.
func (s *server) ApproveTenantDeletion(ctx context.Context, request ApproveTenantDeletionRequestObject) (ApproveTenantDeletionResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	deletion, err := s.administration.ApproveDeletion(ctx, caller(ctx), id, revision)
	if err != nil {
		return nil, err
	}
	return ApproveTenantDeletion200JSONResponse(encodeDeletion(deletion)), nil
}

// CancelTenantDeletion serves POST /v1/tenants/{tenant_id}/deletion/cancel.
func (s *server) CancelTenantDeletion(ctx context.Context, request CancelTenantDeletionRequestObject) (CancelTenantDeletionResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.CancelDeletion(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return CancelTenantDeletion200JSONResponse{Body: encodeTenant(tenant), Headers: CancelTenantDeletion200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

func encodeDeletion(d tenancy.Deletion) TenantDeletion {
	encoded := TenantDeletion{
		Tenant:     encodeTenant(d.Tenant),
		AskedBy:    d.AskedBy,
		AskedAt:    d.AskedAt,
		ApprovedBy: textOrNil(d.ApprovedBy),
		ApprovedAt: utcOrNil(&d.ApprovedAt),
		PurgeAfter: utcOrNil(&d.PurgeAfter),
	}
	if d.Purge != nil {
		encoded.Purge = encodePurge(d.Purge)
	}
	return encoded
}

func encodePurge(p *tenancy.PurgeProgress) *TenantPurge {
	encoded := &TenantPurge{
		Step:        p.Step,
		Stalled:     textOrNil(p.Stalled),
		BeganAt:     p.BeganAt,
		SteppedAt:   p.SteppedAt,
		SettledAt:   utcOrNil(&p.SettledAt),
		PurgedAt:    utcOrNil(&p.PurgedAt),
		Objects:     p.Objects,
		ObjectBytes: p.ObjectBytes,
		Jobs:        p.Jobs,
		ControlRows: p.ControlRows,
	}
	if p.Rows != nil {
		encoded.Rows = &p.Rows
	}
	return encoded
}
