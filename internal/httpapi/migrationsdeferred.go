package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// ListDeferred serves GET /v1/tenants/{tenant_id}/migrations/{migration_id}/deferred.
func (s *server) ListDeferred(ctx context.Context, request ListDeferredRequestObject) (ListDeferredResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	all, err := s.migrations.DeferredOf(ctx, tenant, migrationID(request.MigrationID))
	if err != nil {
		return nil, err
	}
	return ListDeferred200JSONResponse{Deferred: encodeAll(all, encodeDeferred)}, nil
}

// RetryDeferred serves POST /v1/tenants/{tenant_id}/migrations/{migration_id}/deferred/{deferred_id}/retry.
func (s *server) RetryDeferred(ctx context.Context, request RetryDeferredRequestObject) (RetryDeferredResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	d, err := s.migrations.RetryDeferred(ctx, caller(ctx), tenant, migrationID(request.MigrationID), migration.DeferredID(request.DeferredID))
	if err != nil {
		return nil, err
	}
	return RetryDeferred200JSONResponse(encodeDeferred(d)), nil
}

func encodeDeferred(d migration.Deferred) DeferredSection {
	return DeferredSection{
		DeferredID: string(d.ID), Collection: d.Collection, Key: d.Key, Section: d.Section, Reason: d.Reason,
		Attempts: d.Attempts, Retry: d.Retry, FirstAt: d.FirstAt.UTC(), LastAt: d.LastAt.UTC(), NextStep: d.NextStep,
	}
}
