package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// noStore is for answers with a secret in them.
const noStore = "no-store"

// CreateAPIKey serves POST /v1/tenants/{tenant_id}/principals/{principal_id}/api-keys.
func (s *server) CreateAPIKey(ctx context.Context, request CreateAPIKeyRequestObject) (CreateAPIKeyResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	key, again, err := s.createKey(ctx, tenant, request.PrincipalID, request.Body, request.Params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return CreateAPIKey201JSONResponse{
		Body:    key,
		Headers: CreateAPIKey201ResponseHeaders{IdempotentReplayed: replayed(again), CacheControl: noStore},
	}, nil
}

// CreateOperatorAPIKey serves POST /v1/operators/{operator_id}/api-keys.
func (s *server) CreateOperatorAPIKey(ctx context.Context, request CreateOperatorAPIKeyRequestObject) (CreateOperatorAPIKeyResponseObject, error) {
	key, again, err := s.createKey(ctx, tenancy.Operators, request.OperatorID, request.Body, request.Params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return CreateOperatorAPIKey201JSONResponse{
		Body:    key,
		Headers: CreateOperatorAPIKey201ResponseHeaders{IdempotentReplayed: replayed(again), CacheControl: noStore},
	}, nil
}

func (s *server) createKey(ctx context.Context, tenant domain.TenantID, principal string, body *NewAPIKey, idempotency *string) (created CreatedAPIKey, again bool, err error) {
	of, err := principalID(principal)
	if err != nil {
		return CreatedAPIKey{}, false, err
	}
	key, text, again, err := s.administration.CreateKey(ctx, caller(ctx), tenant, tenancy.NewKey{
		Principal:      of,
		Label:          orZero(body.Label),
		ExpiresAt:      body.ExpiresAt,
		IdempotencyKey: orZero(idempotency),
	})
	k := encodeKey(key)
	return CreatedAPIKey{
		ID: k.ID, PrincipalID: k.PrincipalID, Label: k.Label,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		APIKey: text,
	}, again, err
}

// ListAPIKeys serves GET /v1/tenants/{tenant_id}/principals/{principal_id}/api-keys.
func (s *server) ListAPIKeys(ctx context.Context, request ListAPIKeysRequestObject) (ListAPIKeysResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	page, err := s.listKeys(ctx, tenant, request.PrincipalID, request.Params.Cursor, request.Params.Limit)
	return ListAPIKeys200JSONResponse(page), err
}

// ListOperatorAPIKeys serves GET /v1/operators/{operator_id}/api-keys.
func (s *server) ListOperatorAPIKeys(ctx context.Context, request ListOperatorAPIKeysRequestObject) (ListOperatorAPIKeysResponseObject, error) {
	page, err := s.listKeys(ctx, tenancy.Operators, request.OperatorID, request.Params.Cursor, request.Params.Limit)
	return ListOperatorAPIKeys200JSONResponse(page), err
}

func (s *server) listKeys(ctx context.Context, tenant domain.TenantID, principal string, cursor *string, limit *int64) (APIKeyPage, error) {
	of, err := principalID(principal)
	if err != nil {
		return APIKeyPage{}, err
	}
	list := listing{tenant: tenant, name: "api_keys", filter: of.String()}
	after, err := resume(s.cursors, list, cursor, byID[domain.KeyKind])
	if err != nil {
		return APIKeyPage{}, err
	}
	keys, more, err := s.administration.Keys(ctx, caller(ctx), tenant, of, tenancy.List[domain.KeyID]{After: after, Limit: pageSize(limit)})
	if err != nil {
		return APIKeyPage{}, err
	}
	return APIKeyPage{APIKeys: encodeAll(keys, encodeKey), NextCursor: nextCursor(s.cursors, list, more, lastKey(keys))}, nil
}

// RevokeAPIKey serves DELETE /v1/tenants/{tenant_id}/api-keys/{key_id}.
func (s *server) RevokeAPIKey(ctx context.Context, request RevokeAPIKeyRequestObject) (RevokeAPIKeyResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	return RevokeAPIKey204Response{}, s.revokeKey(ctx, tenant, request.KeyID)
}

// RevokeOperatorAPIKey serves DELETE /v1/operator-api-keys/{key_id}.
func (s *server) RevokeOperatorAPIKey(ctx context.Context, request RevokeOperatorAPIKeyRequestObject) (RevokeOperatorAPIKeyResponseObject, error) {
	return RevokeOperatorAPIKey204Response{}, s.revokeKey(ctx, tenancy.Operators, request.KeyID)
}

func (s *server) revokeKey(ctx context.Context, tenant domain.TenantID, key string) error {
	id, err := keyID(key)
	if err != nil {
		return err
	}
	_, err = s.administration.RevokeKey(ctx, caller(ctx), tenant, id)
	return err
}

// lastKey is the position behind a page of keys.
func lastKey(keys []tenancy.Key) []byte {
	if len(keys) == 0 {
		return nil
	}
	return keys[len(keys)-1].ID[:]
}

func encodeKey(k tenancy.Key) APIKey {
	return APIKey{
		ID:          k.ID.String(),
		PrincipalID: k.Principal.String(),
		Label:       k.Label,
		CreatedAt:   k.CreatedAt.UTC(),
		ExpiresAt:   utcOrNil(&k.ExpiresAt),
		RevokedAt:   utcOrNil(&k.RevokedAt),
	}
}
