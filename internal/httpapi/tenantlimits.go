package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// TenantLimits is what the handlers need of limits.Store.
type TenantLimits interface {
	Limits(context.Context, tenancy.Scope, domain.TenantID) (limits.Set, error)
	SetLimits(context.Context, tenancy.Scope, domain.TenantID, limits.Set) (limits.Set, error)
	Usage(ctx context.Context, caller tenancy.Scope, tenant domain.TenantID, databases []string) (limits.Counted, error)
}

// GetLimits serves GET /v1/tenants/{tenant_id}/limits.
func (s *server) GetLimits(ctx context.Context, request GetLimitsRequestObject) (GetLimitsResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	set, err := s.tenantLimits.Limits(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetLimits200JSONResponse{Body: encodeLimits(set), Headers: GetLimits200ResponseHeaders{ETag: etag(set.Revision)}}, nil
}

// SetLimits serves PUT /v1/tenants/{tenant_id}/limits.
func (s *server) SetLimits(ctx context.Context, request SetLimitsRequestObject) (SetLimitsResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	b := request.Body
	set, err := s.tenantLimits.SetLimits(ctx, caller(ctx), id, limits.Set{
		RequestsPerSecond:  b.RequestsPerSecond,
		ConcurrentRequests: b.ConcurrentRequests,
		WaitingRequests:    b.WaitingRequests,
		EntriesPerSecond:   b.EntriesPerSecond,
		ImportRows:         b.ImportRows,
		Accounts:           b.Accounts,
		Devices:            b.Devices,
		Worlds:             b.Worlds,
		BodyBytes:          b.BodyBytes,
		Revision:           revision,
	})
	if err != nil {
		return nil, err
	}
	return SetLimits200JSONResponse{Body: encodeLimits(set), Headers: SetLimits200ResponseHeaders{ETag: etag(set.Revision)}}, nil
}

// GetUsage serves GET /v1/tenants/{tenant_id}/usage.
func (s *server) GetUsage(ctx context.Context, request GetUsageRequestObject) (GetUsageResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	counted, err := s.tenantLimits.Usage(ctx, caller(ctx), id, s.databases)
	if err != nil {
		return nil, err
	}
	usage := GetUsage200JSONResponse{
		Accounts: counted.Accounts, Devices: counted.Devices, Worlds: counted.Worlds, BodyBytes: counted.BodyBytes,
	}
	if !counted.At.IsZero() {
		usage.CountedAt = &counted.At
	}
	return usage, nil
}

func encodeLimits(set limits.Set) Limits {
	l := set.Effective()
	return Limits{
		RequestsPerSecond:  EffectiveLimit{Limit: l.RequestsPerSecond, Default: set.RequestsPerSecond == nil},
		ConcurrentRequests: EffectiveLimit{Limit: l.ConcurrentRequests, Default: set.ConcurrentRequests == nil},
		WaitingRequests:    EffectiveLimit{Limit: l.WaitingRequests, Default: set.WaitingRequests == nil},
		EntriesPerSecond:   EffectiveLimit{Limit: l.EntriesPerSecond, Default: set.EntriesPerSecond == nil},
		ImportRows:         EffectiveLimit{Limit: l.ImportRows, Default: set.ImportRows == nil},
		Accounts:           EffectiveLimit{Limit: l.Accounts, Default: set.Accounts == nil},
		Devices:            EffectiveLimit{Limit: l.Devices, Default: set.Devices == nil},
		Worlds:             EffectiveLimit{Limit: l.Worlds, Default: set.Worlds == nil},
		BodyBytes:          EffectiveLimit{Limit: l.BodyBytes, Default: set.BodyBytes == nil},
		Revision:           set.Revision,
	}
}
