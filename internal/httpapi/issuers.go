package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateIssuer serves POST /v1/tenants/{tenant_id}/issuers.
func (s *server) CreateIssuer(ctx context.Context, request CreateIssuerRequestObject) (CreateIssuerResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	issuer, again, err := s.administration.CreateIssuer(ctx, caller(ctx), tenant, tenancy.NewIssuer{
		URL:            request.Body.Issuer,
		JWKSURI:        request.Body.JwksURI,
		Audience:       request.Body.Audience,
		Scopes:         request.Body.Scopes,
		MaxLifetime:    time.Duration(orZero(request.Body.MaxLifetimeSeconds)) * time.Second,
		IdempotencyKey: orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return CreateIssuer201JSONResponse{
		Body:    encodeIssuer(issuer),
		Headers: CreateIssuer201ResponseHeaders{IdempotentReplayed: replayed(again)},
	}, nil
}

// ListIssuers serves GET /v1/tenants/{tenant_id}/issuers.
func (s *server) ListIssuers(ctx context.Context, request ListIssuersRequestObject) (ListIssuersResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	list := listing{tenant: tenant, name: "issuers"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byID[tenancy.IssuerKind])
	if err != nil {
		return nil, err
	}
	issuers, more, err := s.administration.Issuers(ctx, caller(ctx), tenant, tenancy.List[tenancy.IssuerID]{After: after, Limit: pageSize(request.Params.Limit)})
	if err != nil {
		return nil, err
	}
	var last []byte
	if len(issuers) > 0 {
		last = issuers[len(issuers)-1].ID[:]
	}
	return ListIssuers200JSONResponse{Issuers: encodeAll(issuers, encodeIssuer), NextCursor: nextCursor(s.cursors, list, more, last)}, nil
}

// DisableIssuer serves DELETE /v1/tenants/{tenant_id}/issuers/{issuer_id}.
func (s *server) DisableIssuer(ctx context.Context, request DisableIssuerRequestObject) (DisableIssuerResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	id, err := issuerID(request.IssuerID)
	if err != nil {
		return nil, err
	}
	if _, err := s.administration.DisableIssuer(ctx, caller(ctx), tenant, id); err != nil {
		return nil, err
	}
	return DisableIssuer204Response{}, nil
}

func issuerID(text string) (id tenancy.IssuerID, err error) {
	return id, parseID(&id, text, "issuer_not_found", "There is no issuer of that id here.")
}

func encodeIssuer(i tenancy.Issuer) Issuer {
	return Issuer{
		ID:                 i.ID.String(),
		Issuer:             i.URL,
		JwksURI:            i.JWKSURI,
		Audience:           i.Audience,
		Scopes:             orEmpty(i.Scopes),
		MaxLifetimeSeconds: int64(i.MaxLifetime / time.Second),
		CreatedAt:          i.CreatedAt.UTC(),
		DisabledAt:         utcOrNil(&i.DisabledAt),
	}
}
