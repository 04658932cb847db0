package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// LookupDeviceCode serves POST /v1/device-codes/lookup.
func (s *server) LookupDeviceCode(ctx context.Context, request LookupDeviceCodeRequestObject) (LookupDeviceCodeResponseObject, error) {
	guess, err := decodeGuess(request.Body)
	if err != nil {
		return nil, err
	}
	device, err := s.directory.LookupCode(ctx, caller(ctx), guess)
	if err != nil {
		return nil, err
	}
	return LookupDeviceCode200JSONResponse{Body: encodeDevice(device), Headers: LookupDeviceCode200ResponseHeaders{ETag: etag(device.Revision)}}, nil
}

// ApproveDevice serves POST /v1/device-codes/approve.
func (s *server) ApproveDevice(ctx context.Context, request ApproveDeviceRequestObject) (ApproveDeviceResponseObject, error) {
	guess, err := decodeGuess(request.Body)
	if err != nil {
		return nil, err
	}
	device, err := s.directory.ApproveDevice(ctx, caller(ctx), guess, s.tokens)
	if err != nil {
		return nil, err
	}
	return ApproveDevice200JSONResponse{Body: encodeDevice(device), Headers: ApproveDevice200ResponseHeaders{ETag: etag(device.Revision)}}, nil
}

// DenyDevice serves POST /v1/device-codes/deny.
func (s *server) DenyDevice(ctx context.Context, request DenyDeviceRequestObject) (DenyDeviceResponseObject, error) {
	guess, err := decodeGuess(request.Body)
	if err != nil {
		return nil, err
	}
	device, err := s.directory.DenyDevice(ctx, caller(ctx), guess)
	if err != nil {
		return nil, err
	}
	return DenyDevice200JSONResponse{Body: encodeDevice(device), Headers: DenyDevice200ResponseHeaders{ETag: etag(device.Revision)}}, nil
}

// decodeGuess: an account's id in a body that isn't one is wrong, where in a path
// it names nothing.
func decodeGuess(body *CodeGuess) (identity.CodeGuess, error) {
	guess := identity.CodeGuess{UserCode: body.UserCode}
	if guess.Account.UnmarshalText([]byte(body.AccountID)) != nil {
		return guess, invalid([]domain.Field{{Pointer: "/account_id", Code: "wrong_format"}})
	}
	return guess, nil
}
