package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreatePrincipal serves POST /v1/tenants/{tenant_id}/principals.
func (s *server) CreatePrincipal(ctx context.Context, request CreatePrincipalRequestObject) (CreatePrincipalResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	principal, again, err := s.administration.CreatePrincipal(ctx, caller(ctx), tenant, newPrincipal(request.Body, request.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	return CreatePrincipal201JSONResponse{
		Body:    encodePrincipal(principal),
		Headers: CreatePrincipal201ResponseHeaders{IdempotentReplayed: replayed(again)},
	}, nil
}

// ListPrincipals serves GET /v1/tenants/{tenant_id}/principals.
func (s *server) ListPrincipals(ctx context.Context, request ListPrincipalsRequestObject) (ListPrincipalsResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	list := listing{tenant: tenant, name: "principals"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	principals, more, err := s.administration.Principals(ctx, caller(ctx), tenant, tenancy.List[string]{After: after, Limit: pageSize(request.Params.Limit)})
	if err != nil {
		return nil, err
	}
	return ListPrincipals200JSONResponse{
		Principals: encodeAll(principals, encodePrincipal),
		NextCursor: nextCursor(s.cursors, list, more, lastName(principals, principalName)),
	}, nil
}

// DisablePrincipal serves DELETE /v1/tenants/{tenant_id}/principals/{principal_id}.
func (s *server) DisablePrincipal(ctx context.Context, request DisablePrincipalRequestObject) (DisablePrincipalResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	id, err := principalID(request.PrincipalID)
	if err != nil {
		return nil, err
	}
	if _, err := s.administration.DisablePrincipal(ctx, caller(ctx), tenant, id); err != nil {
		return nil, err
	}
	return DisablePrincipal204Response{}, nil
}

// CreateOperator serves POST /v1/operators.
func (s *server) CreateOperator(ctx context.Context, request CreateOperatorRequestObject) (CreateOperatorResponseObject, error) {
	operator, again, err := s.administration.CreateOperator(ctx, caller(ctx), newPrincipal(request.Body, request.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	return CreateOperator201JSONResponse{
		Body:    encodePrincipal(operator),
		Headers: CreateOperator201ResponseHeaders{IdempotentReplayed: replayed(again)},
	}, nil
}

// ListOperators serves GET /v1/operators.
func (s *server) ListOperators(ctx context.Context, request ListOperatorsRequestObject) (ListOperatorsResponseObject, error) {
	list := listing{tenant: tenancy.Operators, name: "operators"}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	operators, more, err := s.administration.Operators(ctx, caller(ctx), tenancy.List[string]{After: after, Limit: pageSize(request.Params.Limit)})
	if err != nil {
		return nil, err
	}
	return ListOperators200JSONResponse{
		Operators:  encodeAll(operators, encodePrincipal),
		NextCursor: nextCursor(s.cursors, list, more, lastName(operators, principalName)),
	}, nil
}

// DisableOperator serves DELETE /v1/operators/{operator_id}.
func (s *server) DisableOperator(ctx context.Context, request DisableOperatorRequestObject) (DisableOperatorResponseObject, error) {
	id, err := principalID(request.OperatorID)
	if err != nil {
		return nil, err
	}
	if _, err := s.administration.DisableOperator(ctx, caller(ctx), id); err != nil {
		return nil, err
	}
	return DisableOperator204Response{}, nil
}

func newPrincipal(body *NewPrincipal, key *string) tenancy.NewPrincipal {
	return tenancy.NewPrincipal{Name: body.Name, Scopes: body.Scopes, IdempotencyKey: orZero(key)}
}

func principalName(p tenancy.Principal) string { return p.Name }

func encodePrincipal(p tenancy.Principal) Principal {
	return Principal{
		ID:         p.ID.String(),
		Name:       p.Name,
		Scopes:     p.Scopes,
		CreatedAt:  p.CreatedAt.UTC(),
		DisabledAt: utcOrNil(&p.DisabledAt),
	}
}
