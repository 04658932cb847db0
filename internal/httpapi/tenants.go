package httpapi

import (
	"cmp"
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateTenant serves POST /v1/tenants.
func (s *server) CreateTenant(ctx context.Context, request CreateTenantRequestObject) (CreateTenantResponseObject, error) {
	tenant, again, err := s.administration.CreateTenant(ctx, caller(ctx), tenancy.NewTenant{
		Name:           request.Body.Name,
		HandlePolicy:   string(cmp.Or(orZero(request.Body.HandlePolicy), ASCII)),
		IdentityState:  string(cmp.Or(orZero(request.Body.IdentityState), IdentityStateOpen)),
		IdempotencyKey: orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return CreateTenant201JSONResponse{
		Body:    encodeTenant(tenant),
		Headers: CreateTenant201ResponseHeaders{ETag: etag(tenant.Revision), IdempotentReplayed: replayed(again)},
	}, nil
}

// ListTenants serves GET /v1/tenants.
func (s *server) ListTenants(ctx context.Context, request ListTenantsRequestObject) (ListTenantsResponseObject, error) {
	list := listing{tenant: tenancy.Operators, name: "tenants"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	tenants, more, err := s.administration.Tenants(ctx, caller(ctx), tenancy.List[string]{After: after, Limit: pageSize(request.Params.Limit)})
	if err != nil {
		return nil, err
	}
	return ListTenants200JSONResponse{
		Tenants:    encodeAll(tenants, encodeTenant),
		NextCursor: nextCursor(s.cursors, list, more, lastName(tenants, func(t tenancy.Tenant) string { return t.Name })),
	}, nil
}

// GetTenant serves GET /v1/tenants/{tenant_id}.
func (s *server) GetTenant(ctx context.Context, request GetTenantRequestObject) (GetTenantResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.Tenant(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetTenant200JSONResponse{Body: encodeTenant(tenant), Headers: GetTenant200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

// SuspendTenant serves POST /v1/tenants/{tenant_id}/suspend.
func (s *server) SuspendTenant(ctx context.Context, request SuspendTenantRequestObject) (SuspendTenantResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.SuspendTenant(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return SuspendTenant200JSONResponse{Body: encodeTenant(tenant), Headers: SuspendTenant200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

// ResumeTenant serves POST /v1/tenants/{tenant_id}/resume.
func (s *server) ResumeTenant(ctx context.Context, request ResumeTenantRequestObject) (ResumeTenantResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.ResumeTenant(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return ResumeTenant200JSONResponse{Body: encodeTenant(tenant), Headers: ResumeTenant200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

// PatchTenant serves PATCH /v1/tenants/{tenant_id}. A patch of nothing changes nothing.
func (s *server) PatchTenant(ctx context.Context, request PatchTenantRequestObject) (PatchTenantResponseObject, error) {
	body := request.JSONBody
	if body == nil {
		body = request.ApplicationMergePatchPlusJSONBody
	}
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.Tenant(ctx, caller(ctx), id)
	if err == nil {
		tenant, err = s.administration.RenameTenant(ctx, caller(ctx), id, revision, cmp.Or(orZero(body.Name), tenant.Name))
	}
	if err != nil {
		return nil, err
	}
	return PatchTenant200JSONResponse{Body: encodeTenant(tenant), Headers: PatchTenant200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

func encodeTenant(t tenancy.Tenant) Tenant {
	encoded := Tenant{
		ID:            t.ID.String(),
		Revision:      t.Revision,
		Name:          t.Name,
		State:         t.State,
		Layout:        t.Layout,
		IdentityState: t.IdentityState,
		HandlePolicy:  t.HandlePolicy,
		RecordFormat:  t.RecordFormat,
		CreatedAt:     t.CreatedAt.UTC(),
		UpdatedAt:     t.UpdatedAt.UTC(),
	}
	if t.Hold != nil {
		encoded.LegalHold = &LegalHold{Reason: t.Hold.Reason, SetBy: t.Hold.By, SetAt: t.Hold.At}
	}
	return encoded
}
