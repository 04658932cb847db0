package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// ClaimBatch serves POST /v1/collections/{collection}/batches.
func (s *server) ClaimBatch(ctx context.Context, request ClaimBatchRequestObject) (ClaimBatchResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	claimed, err := s.records.Claim(ctx, caller(ctx), request.Collection, held, record.ClaimBatch{
		ID:    request.Body.BatchID,
		Owner: request.Body.Owner,
		Items: request.Body.Items,
		Term:  claimTerm(request.Body.TermSeconds),
	})
	if err != nil {
		return nil, err
	}
	return ClaimBatch200JSONResponse(encodeBatch(claimed)), nil
}

// GetBatch serves GET /v1/collections/{collection}/batches/{batch_id}.
func (s *server) GetBatch(ctx context.Context, request GetBatchRequestObject) (GetBatchResponseObject, error) {
	found, err := s.records.Batch(ctx, caller(ctx), request.Collection, request.BatchID)
	if err != nil {
		return nil, err
	}
	return GetBatch200JSONResponse(encodeBatch(found)), nil
}

// HeartbeatBatch serves POST /v1/collections/{collection}/batches/{batch_id}/heartbeat.
func (s *server) HeartbeatBatch(ctx context.Context, request HeartbeatBatchRequestObject) (HeartbeatBatchResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	items := encodeAll(request.Body.Items, func(i ClaimedItem) record.ClaimedItem {
		return record.ClaimedItem{Key: i.Key, Generation: i.Generation}
	})
	beaten, err := s.records.Heartbeat(ctx, caller(ctx), request.Collection, held, request.BatchID, items, claimTerm(request.Body.TermSeconds))
	if err != nil {
		return nil, err
	}
	return HeartbeatBatch200JSONResponse{Items: encodeAll(beaten, encodeBatchItem)}, nil
}

// CompleteBatch serves POST /v1/collections/{collection}/batches/{batch_id}/complete.
func (s *server) CompleteBatch(ctx context.Context, request CompleteBatchRequestObject) (CompleteBatchResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	asked := record.CompleteBatch{OperationID: request.Body.OperationID, Items: make([]record.Publication, len(request.Body.Items))}
	for i, item := range request.Body.Items {
		if asked.Items[i], err = decodeClaimedPublication(item); err != nil {
			return nil, err
		}
	}
	completion, err := s.records.Complete(ctx, caller(ctx), request.Collection, held, request.BatchID, asked)
	if err != nil {
		return nil, err
	}
	return CompleteBatch200JSONResponse{
		Body:    encodeCompletion(completion),
		Headers: CompleteBatch200ResponseHeaders{IdempotentReplayed: replayed(completion.Replayed)},
	}, nil
}

// claimTerm is 0 for a caller who doesn't say.
func claimTerm(seconds *int64) time.Duration { return time.Duration(orZero(seconds)) * time.Second }

func encodeBatch(b record.Batch) Batch {
	return Batch{
		BatchID:     b.ID,
		Owner:       b.Owner,
		Completed:   b.Completed,
		CreatedAt:   b.CreatedAt.UTC(),
		CompletedAt: utcOrNil(&b.CompletedAt),
		Items:       encodeAll(b.Items, encodeBatchItem),
	}
}

func encodeBatchItem(i record.BatchItem) BatchItem {
	encoded := BatchItem{Key: i.Key, State: string(i.State), ExpiresAt: utcOrNil(&i.ExpiresAt)}
	if i.Generation != 0 {
		encoded.Generation = &i.Generation
	}
	return encoded
}
