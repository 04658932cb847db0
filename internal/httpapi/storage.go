package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// GetStorage serves GET /v1/tenants/{tenant_id}/storage.
func (s *server) GetStorage(ctx context.Context, request GetStorageRequestObject) (GetStorageResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	tenant, err := s.administration.Tenant(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetStorage200JSONResponse{RecordFormat: tenant.RecordFormat}, nil
}

// SetStorage serves PUT /v1/tenants/{tenant_id}/storage.
func (s *server) SetStorage(ctx context.Context, request SetStorageRequestObject) (SetStorageResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	// Who isn't there is no reason to look at the object store.
	tenant, err := s.administration.Tenant(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	// Where it was set already, this is a repetition that may have gates to mend,
	// which must not wait for an object store that is away.
	if request.Body.RecordFormat == tenancy.RecordsInObjects && tenant.RecordFormat != tenancy.RecordsInObjects {
		if err := s.checkStore(ctx); err != nil {
			return nil, err
		}
	}
	tenant, err = s.administration.SetRecordFormat(ctx, caller(ctx), id, request.Body.RecordFormat)
	if err != nil {
		return nil, err
	}
	return SetStorage200JSONResponse{Body: encodeTenant(tenant), Headers: SetStorage200ResponseHeaders{ETag: etag(tenant.Revision)}}, nil
}

// checkStore fails unless bodies would be safe in the object store.
func (s *server) checkStore(ctx context.Context) error {
	if s.storageGuard == nil {
		return domain.Conflict("object_store_missing", "Holdfast has no object store here to keep bodies in.")
	}
	return s.storageGuard.CheckStore(ctx)
}
