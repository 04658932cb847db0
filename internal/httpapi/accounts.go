package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// CreateAccount serves POST /v1/accounts.
func (s *server) CreateAccount(ctx context.Context, request CreateAccountRequestObject) (CreateAccountResponseObject, error) {
	want := request.Body
	created, err := s.directory.Create(ctx, caller(ctx), identity.CreateAccount{
		Handle:         want.Handle,
		Email:          want.Email,
		EmailVerified:  orZero(want.EmailVerified),
		DisplayName:    want.DisplayName,
		Attributes:     want.Attributes,
		IdempotencyKey: orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return CreateAccount201JSONResponse{
		Body:    createdAccount(created),
		Headers: CreateAccount201ResponseHeaders{ETag: etag(created.Account.Revision), IdempotentReplayed: replayed(created.Replayed), CacheControl: noStore},
	}, nil
}

// GetAccount serves GET /v1/accounts/{account_id}.
func (s *server) GetAccount(ctx context.Context, request GetAccountRequestObject) (GetAccountResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	account, err := s.directory.Get(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetAccount200JSONResponse{Body: encodeAccount(account), Headers: GetAccount200ResponseHeaders{ETag: etag(account.Revision)}}, nil
}

// PatchAccount serves PATCH /v1/accounts/{account_id}.
func (s *server) PatchAccount(ctx context.Context, request PatchAccountRequestObject) (PatchAccountResponseObject, error) {
	body := request.JSONBody
	if body == nil {
		body = request.ApplicationMergePatchPlusJSONBody
	}
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	patch, err := decodePatch(body)
	if err != nil {
		return nil, err
	}
	account, err := s.directory.Patch(ctx, caller(ctx), id, revision, patch)
	if err != nil {
		return nil, err
	}
	return PatchAccount200JSONResponse{Body: encodeAccount(account), Headers: PatchAccount200ResponseHeaders{ETag: etag(account.Revision)}}, nil
}

// DeleteAccount serves DELETE /v1/accounts/{account_id}.
func (s *server) DeleteAccount(ctx context.Context, request DeleteAccountRequestObject) (DeleteAccountResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := s.directory.Delete(ctx, caller(ctx), id, revision); err != nil {
		return nil, err
	}
	return DeleteAccount204Response{}, nil
}

// LookupAccount serves POST /v1/accounts/lookup.
func (s *server) LookupAccount(ctx context.Context, request LookupAccountRequestObject) (LookupAccountResponseObject, error) {
	account, err := s.lookup(ctx, request.Body)
	if err != nil {
		return nil, err
	}
	return LookupAccount200JSONResponse{Body: encodeAccount(account), Headers: LookupAccount200ResponseHeaders{ETag: etag(account.Revision)}}, nil
}

// lookup: the schema has seen to it that there is exactly one key.
func (s *server) lookup(ctx context.Context, key *LookupKey) (identity.Account, error) {
	if key.Handle != nil {
		return s.directory.LookupHandle(ctx, caller(ctx), *key.Handle)
	}
	return s.directory.LookupEmail(ctx, caller(ctx), *key.Email)
}

// GetRecovery serves GET /v1/identity/recovery.
func (s *server) GetRecovery(ctx context.Context, _ GetRecoveryRequestObject) (GetRecoveryResponseObject, error) {
	recovery, err := s.directory.Recovery(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return GetRecovery200JSONResponse{Pending: recovery.Pending, OldestDeadline: utcOrNil(recovery.OldestDeadline)}, nil
}
