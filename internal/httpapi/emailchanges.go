package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// BeginEmailChange serves POST /v1/accounts/{account_id}/email-changes.
func (s *server) BeginEmailChange(ctx context.Context, request BeginEmailChangeRequestObject) (BeginEmailChangeResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	begun, err := s.directory.BeginEmailChange(ctx, caller(ctx), id, identity.BeginEmailChange{
		Email:          request.Body.Email,
		IdempotencyKey: orZero(request.Params.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return BeginEmailChange201JSONResponse{
		Body:    encodeEmailChange(begun.EmailChange),
		Headers: BeginEmailChange201ResponseHeaders{IdempotentReplayed: replayed(begun.Replayed), CacheControl: noStore},
	}, nil
}

// GetEmailChange serves GET /v1/accounts/{account_id}/email-change.
func (s *server) GetEmailChange(ctx context.Context, request GetEmailChangeRequestObject) (GetEmailChangeResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	change, err := s.directory.PendingEmailChange(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetEmailChange200JSONResponse{
		ID: change.ID.String(), Email: change.Email.String(), CreatedAt: change.CreatedAt.UTC(), ExpiresAt: change.ExpiresAt.UTC(),
	}, nil
}

// ConfirmEmailChange serves POST /v1/accounts/{account_id}/email-changes/{change_id}/confirm.
func (s *server) ConfirmEmailChange(ctx context.Context, request ConfirmEmailChangeRequestObject) (ConfirmEmailChangeResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	account, err := s.directory.ConfirmEmailChange(ctx, caller(ctx), id, changeID(request.ChangeID), request.Body.Code)
	if err != nil {
		return nil, err
	}
	return ConfirmEmailChange200JSONResponse{Body: encodeAccount(account), Headers: ConfirmEmailChange200ResponseHeaders{ETag: etag(account.Revision)}}, nil
}

// CancelEmailChange serves DELETE /v1/accounts/{account_id}/email-changes/{change_id}.
func (s *server) CancelEmailChange(ctx context.Context, request CancelEmailChangeRequestObject) (CancelEmailChangeResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	if err := s.directory.CancelEmailChange(ctx, caller(ctx), id, changeID(request.ChangeID)); err != nil {
		return nil, err
	}
	return CancelEmailChange204Response{}, nil
}

// RemoveEmail serves DELETE /v1/accounts/{account_id}/email.
func (s *server) RemoveEmail(ctx context.Context, request RemoveEmailRequestObject) (RemoveEmailResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	revision, err := optionalIfMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	account, err := s.directory.RemoveEmail(ctx, caller(ctx), id, revision)
	if err != nil {
		return nil, err
	}
	return RemoveEmail200JSONResponse{Body: encodeAccount(account), Headers: RemoveEmail200ResponseHeaders{ETag: etag(account.Revision)}}, nil
}
