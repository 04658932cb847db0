package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateClient serves POST /v1/tenants/{tenant_id}/clients.
func (s *server) CreateClient(ctx context.Context, request CreateClientRequestObject) (CreateClientResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	client, again, err := s.administration.CreateClient(ctx, caller(ctx), tenant, tenancy.NewClient{
		Name:            request.Body.Name,
		Scopes:          orZero(request.Body.Scopes),
		VerificationURI: request.Body.VerificationURI,
		IdempotencyKey:  orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return CreateClient201JSONResponse{
		Body:    encodeClient(client),
		Headers: CreateClient201ResponseHeaders{IdempotentReplayed: replayed(again)},
	}, nil
}

// ListClients serves GET /v1/tenants/{tenant_id}/clients.
func (s *server) ListClients(ctx context.Context, request ListClientsRequestObject) (ListClientsResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	list := listing{tenant: tenant, name: "clients"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	clients, more, err := s.administration.Clients(ctx, caller(ctx), tenant, tenancy.List[string]{After: after, Limit: pageSize(request.Params.Limit)})
	if err != nil {
		return nil, err
	}
	return ListClients200JSONResponse{
		Clients:    encodeAll(clients, encodeClient),
		NextCursor: nextCursor(s.cursors, list, more, lastName(clients, func(c tenancy.Client) string { return c.Name })),
	}, nil
}

// DisableClient serves DELETE /v1/tenants/{tenant_id}/clients/{client_id}.
func (s *server) DisableClient(ctx context.Context, request DisableClientRequestObject) (DisableClientResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	id, err := clientID(request.ClientID)
	if err != nil {
		return nil, err
	}
	if _, err := s.administration.DisableClient(ctx, caller(ctx), tenant, id); err != nil {
		return nil, err
	}
	return DisableClient204Response{}, nil
}

func encodeClient(c tenancy.Client) PublicClient {
	return PublicClient{
		ID:              tenancy.ClientIDText(c.ID),
		Name:            c.Name,
		Scopes:          orEmpty(c.Scopes),
		VerificationURI: c.VerificationURI,
		CreatedAt:       c.CreatedAt.UTC(),
		DisabledAt:      utcOrNil(&c.DisabledAt),
	}
}
