package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// AcquireLease serves POST /v1/worlds/{world_id}/lease/acquire.
func (s *server) AcquireLease(ctx context.Context, request AcquireLeaseRequestObject) (AcquireLeaseResponseObject, error) {
	ctx, end := s.waiting(ctx)
	defer end()
	body := request.Body
	grant, err := s.coordinator.Acquire(ctx, caller(ctx), request.WorldID, lease.Acquire{
		RequestID: body.RequestID,
		Term:      seconds(body.TermSeconds),
		Replay:    seconds(body.ActivateWithinSeconds),
		Wait:      seconds(body.WaitSeconds),
		Takeover:  orZero(body.Takeover),
	})
	if err != nil {
		return nil, endedWaiting(ctx, err)
	}
	return AcquireLease200JSONResponse{
		Body: LeaseGrant{
			WorldID:         grant.World,
			Epoch:           grant.Epoch,
			Secret:          grant.Secret,
			HandoffPosition: grant.HandoffPosition,
			Activated:       grant.Activated,
			ActivateBy:      grant.ActivateBy.UTC(),
			ExpiresAt:       grant.ExpiresAt.UTC(),
			TermSeconds:     wholeTerm(grant.Term),
			RemainingMs:     remaining(grant.Remaining),
		},
		Headers: AcquireLease200ResponseHeaders{CacheControl: noStore},
	}, nil
}

// seconds are within the bounds of the schema; 0 when they are absent.
func seconds(n *int64) time.Duration { return time.Duration(orZero(n)) * time.Second }
