package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// RenewLease serves POST /v1/worlds/{world_id}/lease/renew.
func (s *server) RenewLease(ctx context.Context, request RenewLeaseRequestObject) (RenewLeaseResponseObject, error) {
	held, err := authority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	renewal, err := s.coordinator.Renew(ctx, caller(ctx), request.WorldID, held)
	if err != nil {
		return nil, err
	}
	return RenewLease200JSONResponse(encodeRenewal(renewal)), nil
}

// RenewLeases serves POST /v1/leases/renew.
func (s *server) RenewLeases(ctx context.Context, request RenewLeasesRequestObject) (RenewLeasesResponseObject, error) {
	asked := encodeAll(request.Body.Renewals, func(r LeaseToRenew) lease.Renew {
		return lease.Renew{World: r.WorldID, Authority: lease.Authority{Epoch: r.Epoch, Secret: r.Secret}}
	})
	renewed, err := s.coordinator.RenewAll(ctx, caller(ctx), asked)
	if err != nil {
		return nil, err
	}
	return RenewLeases200JSONResponse{Results: encodeAll(renewed, func(r lease.Renewed) LeaseRenewalResult {
		result := LeaseRenewalResult{WorldID: r.World}
		if r.Err != nil {
			result.Refusal = s.leaseRefusal(ctx, r.Err)
			return result
		}
		renewal := encodeRenewal(r.Renewal)
		result.Renewal = &renewal
		return result
	})}, nil
}

func encodeRenewal(r lease.Renewal) LeaseRenewal {
	return LeaseRenewal{
		WorldID:     r.World,
		Epoch:       r.Epoch,
		ExpiresAt:   r.ExpiresAt.UTC(),
		TermSeconds: wholeTerm(r.Term),
		RemainingMs: remaining(r.Remaining),
	}
}
