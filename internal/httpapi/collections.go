package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// PutCollection serves PUT /v1/collections/{collection}.
func (s *server) PutCollection(ctx context.Context, request PutCollectionRequestObject) (PutCollectionResponseObject, error) {
	want := record.NewCollection{Name: request.Collection, BindWorld: orZero(request.Body.BindWorld)}
	if profile := request.Body.Profile; profile != nil {
		want.Profile = &record.Profile{Primaries: profile.Primaries, Companions: orZero(profile.Companions)}
	}
	made, created, err := s.records.CreateCollection(ctx, caller(ctx), want)
	switch {
	case err != nil:
		return nil, err
	case created:
		return PutCollection201JSONResponse(encodeCollection(made)), nil
	}
	return PutCollection200JSONResponse(encodeCollection(made)), nil
}

// GetCollection serves GET /v1/collections/{collection}.
func (s *server) GetCollection(ctx context.Context, request GetCollectionRequestObject) (GetCollectionResponseObject, error) {
	collection, err := s.records.Collection(ctx, caller(ctx), request.Collection)
	if err != nil {
		return nil, err
	}
	return GetCollection200JSONResponse(encodeCollection(collection)), nil
}

// ListCollections serves GET /v1/collections. The position in the list is the last
// collection's name.
func (s *server) ListCollections(ctx context.Context, request ListCollectionsRequestObject) (ListCollectionsResponseObject, error) {
	list := listing{tenant: caller(ctx).Tenant, name: "collections"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	page, err := s.records.Collections(ctx, caller(ctx), after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	last := lastName(page.Collections, func(c record.Collection) string { return c.Name })
	return ListCollections200JSONResponse{
		Collections: encodeAll(page.Collections, encodeCollection),
		NextCursor:  nextCursor(s.cursors, list, page.More, last),
	}, nil
}

func encodeCollection(c record.Collection) Collection {
	return Collection{
		Collection:     c.Name,
		CollectionID:   c.ID.String(),
		RecordFormat:   c.Format,
		WorldID:        textOrNil(c.World),
		Profile:        encodeProfile(c.Profile),
		ExportSequence: c.Sequence,
		CreatedAt:      c.CreatedAt.UTC(),
	}
}

func encodeProfile(p record.Profile) Profile {
	encoded := Profile{Primaries: orEmpty(p.Primaries), Companions: make(map[string][]SectionName, len(p.Companions))}
	for companion, primaries := range p.Companions {
		encoded.Companions[companion] = orEmpty(primaries)
	}
	return encoded
}
