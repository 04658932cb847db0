package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// GetLease serves GET /v1/worlds/{world_id}/lease.
func (s *server) GetLease(ctx context.Context, request GetLeaseRequestObject) (GetLeaseResponseObject, error) {
	if position := request.Params.Position; position != nil {
		proof, err := s.coordinator.LeaseAt(ctx, caller(ctx), caller(ctx).Tenant, request.WorldID, *position)
		if err != nil {
			return nil, err
		}
		return encodeProof(request.WorldID, proof), nil
	}
	state, err := s.coordinator.Lease(ctx, caller(ctx), caller(ctx).Tenant, request.WorldID)
	if err != nil {
		return nil, err
	}
	return GetLease200JSONResponse(encodeLease(state)), nil
}

// GetTenantLease serves GET /v1/tenants/{tenant_id}/worlds/{world_id}/lease.
func (s *server) GetTenantLease(ctx context.Context, request GetTenantLeaseRequestObject) (GetTenantLeaseResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	// The coordinator knows no tenants: to it, one that isn't there has no worlds.
	if err := s.administration.DemandTenant(ctx, caller(ctx), tenancy.OperatorRead, tenant); err != nil {
		return nil, err
	}
	if position := request.Params.Position; position != nil {
		proof, err := s.coordinator.LeaseAt(ctx, caller(ctx), tenant, request.WorldID, *position)
		if err != nil {
			return nil, err
		}
		return encodeProof(request.WorldID, proof), nil
	}
	state, err := s.coordinator.Lease(ctx, caller(ctx), tenant, request.WorldID)
	if err != nil {
		return nil, err
	}
	return GetTenantLease200JSONResponse(encodeLease(state)), nil
}

// ActivateLease serves POST /v1/worlds/{world_id}/lease/activate.
func (s *server) ActivateLease(ctx context.Context, request ActivateLeaseRequestObject) (ActivateLeaseResponseObject, error) {
	held, err := authority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	var hash journal.Hash
	if hash.UnmarshalText([]byte(request.Body.ChainHash)) != nil { // which the schema has refused already
		return nil, invalid([]domain.Field{{Pointer: "/chain_hash", Code: "wrong_format"}})
	}
	state, err := s.coordinator.Activate(ctx, caller(ctx), request.WorldID, held, request.Body.ReplayedPosition, hash)
	if err != nil {
		return nil, err
	}
	return ActivateLease200JSONResponse(encodeLease(state)), nil
}

// HandOffLease serves POST /v1/worlds/{world_id}/lease/handoff.
func (s *server) HandOffLease(ctx context.Context, request HandOffLeaseRequestObject) (HandOffLeaseResponseObject, error) {
	held, err := authority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	done, err := s.coordinator.HandOff(ctx, caller(ctx), request.WorldID, held, string(request.Body.To))
	if err != nil {
		return nil, err
	}
	return HandOffLease200JSONResponse(encodeHandedOff(done)), nil
}

// RevokeLease serves POST /v1/worlds/{world_id}/lease/revoke.
func (s *server) RevokeLease(ctx context.Context, request RevokeLeaseRequestObject) (RevokeLeaseResponseObject, error) {
	done, err := s.coordinator.Revoke(ctx, caller(ctx), caller(ctx).Tenant, request.WorldID, decodeRevocation(request.Body))
	if err != nil {
		return nil, err
	}
	return RevokeLease200JSONResponse(encodeHandedOff(done)), nil
}

// RevokeTenantLease serves POST /v1/tenants/{tenant_id}/worlds/{world_id}/lease/revoke.
func (s *server) RevokeTenantLease(ctx context.Context, request RevokeTenantLeaseRequestObject) (RevokeTenantLeaseResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	// As above.
	if _, err := s.administration.Tenant(ctx, caller(ctx), tenant); err != nil {
		return nil, err
	}
	done, err := s.coordinator.Revoke(ctx, caller(ctx), tenant, request.WorldID, decodeRevocation(request.Body))
	if err != nil {
		return nil, err
	}
	return RevokeTenantLease200JSONResponse(encodeHandedOff(done)), nil
}

func decodeRevocation(body *LeaseRevocation) lease.Revoke {
	return lease.Revoke{Epoch: body.Epoch, RenewedPosition: body.RenewedPosition, Reason: body.Reason}
}
