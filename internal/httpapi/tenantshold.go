package httpapi

import "context"

// SetLegalHold serves PUT /v1/tenants/{tenant_id}/legal-hold.
func (s *server) SetLegalHold(ctx context.Context, request SetLegalHoldRequestObject) (SetLegalHoldResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.HoldTenant(ctx, caller(ctx), id, request.Body.Reason)
	if err != nil {
		return nil, err
	}
	return SetLegalHold200JSONResponse{Body: encodeTenant(tenant), Headers: SetLegalHold200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

// LiftLegalHold serves DELETE /v1/tenants/{tenant_id}/legal-hold.
func (s *server) LiftLegalHold(ctx context.Context, request LiftLegalHoldRequestObject) (LiftLegalHoldResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.LiftHold(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return LiftLegalHold200JSONResponse{Body: encodeTenant(tenant), Headers: LiftLegalHold200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}
