package httpapi

import (
	"context"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// AppendEntries serves POST /v1/worlds/{world_id}/journal.
func (s *server) AppendEntries(ctx context.Context, request AppendEntriesRequestObject) (AppendEntriesResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	entries, err := decodeEntries(request.Body.Entries)
	if err != nil {
		return nil, err
	}
	if err := s.limiter.Entries(ctx, caller(ctx).Tenant, len(entries)); err != nil {
		return nil, err
	}
	receipt, err := s.coordinator.Append(ctx, caller(ctx), request.WorldID, held, lease.Append{Entries: entries, IfPosition: request.Body.IfPosition})
	if err != nil {
		return nil, err
	}
	encoded := AppendReceipt{
		WorldID:   receipt.World,
		Epoch:     receipt.Epoch,
		Positions: receipt.Positions,
		ChainHash: receipt.Hash.String(),
		Replayed:  receipt.Replayed,
	}
	if receipt.Replayed {
		return AppendEntries200JSONResponse(encoded), nil
	}
	return AppendEntries201JSONResponse(encoded), nil
}

// decodeEntries demands of each entry one payload. JSON stays as it was sent: its
// numbers' digits tell whether it can be kept.
func decodeEntries(sent []NewEntry) ([]lease.AppendEntry, error) {
	entries := make([]lease.AppendEntry, len(sent))
	for i, e := range sent {
		entries[i].ID = e.EntryID
		switch {
		case (e.Payload == nil) == (e.JSON == nil):
			return nil, domain.Invalid("payload_not_one", "An entry has either a payload, in base64, or json.").At("/entries/" + strconv.Itoa(i))
		case e.Payload != nil:
			entries[i].Payload = *e.Payload
		default:
			entries[i].Payload, entries[i].JSON = e.JSON, true
		}
	}
	return entries, nil
}

// CheckAppend serves POST /v1/worlds/{world_id}/journal/check.
func (s *server) CheckAppend(ctx context.Context, request CheckAppendRequestObject) (CheckAppendResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	verdict, err := s.coordinator.CheckAppend(ctx, caller(ctx), request.WorldID, held)
	if err != nil {
		return nil, err
	}
	encoded := AppendVerdict{Accepted: verdict.Accepted, Lease: encodeLease(verdict.State)}
	if verdict.Refusal != nil {
		encoded.Refusal = s.leaseRefusal(ctx, verdict.Refusal)
	}
	return CheckAppend200JSONResponse(encoded), nil
}
