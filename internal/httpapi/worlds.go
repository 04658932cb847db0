package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// CreateWorld serves POST /v1/worlds.
func (s *server) CreateWorld(ctx context.Context, request CreateWorldRequestObject) (CreateWorldResponseObject, error) {
	policy := lease.Policy{AdviseSpill: true}
	if advise := request.Body.AdviseSpill; advise != nil {
		policy.AdviseSpill = *advise
	}
	world, err := s.coordinator.CreateWorld(ctx, caller(ctx), request.Body.WorldID, policy)
	if err != nil {
		return nil, err
	}
	return CreateWorld201JSONResponse(encodeWorld(world)), nil
}

// ListWorlds serves GET /v1/worlds. The position in the list is the last world's
// id.
func (s *server) ListWorlds(ctx context.Context, request ListWorldsRequestObject) (ListWorldsResponseObject, error) {
	list := listing{tenant: caller(ctx).Tenant, name: "worlds"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	page, err := s.coordinator.Worlds(ctx, caller(ctx), after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListWorlds200JSONResponse{
		Worlds:     encodeAll(page.Worlds, encodeWorld),
		NextCursor: nextCursor(s.cursors, list, page.More, lastName(page.Worlds, func(w lease.World) string { return w.ID })),
	}, nil
}

// GetWorld serves GET /v1/worlds/{world_id}.
func (s *server) GetWorld(ctx context.Context, request GetWorldRequestObject) (GetWorldResponseObject, error) {
	world, err := s.coordinator.World(ctx, caller(ctx), request.WorldID)
	if err != nil {
		return nil, err
	}
	return GetWorld200JSONResponse(encodeWorld(world)), nil
}

// DeleteWorld serves DELETE /v1/worlds/{world_id}.
func (s *server) DeleteWorld(ctx context.Context, request DeleteWorldRequestObject) (DeleteWorldResponseObject, error) {
	if err := s.coordinator.RetireWorld(ctx, caller(ctx), request.WorldID); err != nil {
		return nil, err
	}
	return DeleteWorld204Response{}, nil
}

func encodeWorld(w lease.World) World {
	return World{
		WorldID:     w.ID,
		CreatedAt:   w.CreatedAt.UTC(),
		Position:    w.Position,
		Epoch:       w.Epoch,
		Holder:      encodeJournalActor(w.Holder),
		AdviseSpill: w.Policy.AdviseSpill,
	}
}
