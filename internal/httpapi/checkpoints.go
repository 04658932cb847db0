package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// GetCheckpoint serves GET /v1/worlds/{world_id}/journal/checkpoint.
func (s *server) GetCheckpoint(ctx context.Context, request GetCheckpointRequestObject) (GetCheckpointResponseObject, error) {
	signed, err := s.coordinator.Checkpoint(ctx, caller(ctx), request.WorldID)
	if err != nil {
		return nil, err
	}
	return checkpointBody{
		Tenant: signed.Tenant, World: signed.World, Position: signed.Position, Hash: signed.Hash, At: journal.Time(signed.At),
		KeyID: signed.KeyID, Signature: base64.RawURLEncoding.EncodeToString(signed.Signature),
	}, nil
}

// checkpointBody is a checkpoint to the letter of what was signed. It is its own
// response.
type checkpointBody struct {
	Tenant    domain.TenantID `json:"tenant_id"`
	World     string          `json:"world_id"`
	Position  int64           `json:"position"`
	Hash      journal.Hash    `json:"hash"`
	At        journal.Time    `json:"at"`
	KeyID     string          `json:"key_id"`
	Signature string          `json:"signature"`
}

// VisitGetCheckpointResponse writes it.
func (b checkpointBody) VisitGetCheckpointResponse(w http.ResponseWriter) error {
	setMedia(w, mediaJSON)
	return json.NewEncoder(w).Encode(b)
}

// GetCheckpointKeys serves GET /.well-known/holdfast-checkpoint-keys.json.
func (s *server) GetCheckpointKeys(ctx context.Context, _ GetCheckpointKeysRequestObject) (GetCheckpointKeysResponseObject, error) {
	set, err := s.checkpointKeys.JWKS(ctx)
	if err != nil {
		return nil, err
	}
	return GetCheckpointKeys200JSONResponse{
		Body: encodeKeys(set), Headers: GetCheckpointKeys200ResponseHeaders{CacheControl: keysCached()},
	}, nil
}

// GetHeat serves GET /v1/worlds/{world_id}/heat.
func (s *server) GetHeat(ctx context.Context, request GetHeatRequestObject) (GetHeatResponseObject, error) {
	heat, err := s.coordinator.Heat(ctx, caller(ctx), request.WorldID)
	if err != nil {
		return nil, err
	}
	answer := WorldHeat{WorldID: heat.World, Band: WorldHeatBand(heat.Band), Rate: heat.Rate, WaitSeconds: heat.Wait.Seconds()}
	if !heat.Since.IsZero() {
		answer.Since, answer.MeasuredAt = &heat.Since, &heat.MeasuredAt
	}
	if heat.Advice != "" {
		advice := WorldHeatAdvice(heat.Advice)
		answer.Advice = &advice
	}
	return GetHeat200JSONResponse(answer), nil
}
