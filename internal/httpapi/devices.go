package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// CreateDevice serves POST /v1/devices.
func (s *server) CreateDevice(ctx context.Context, request CreateDeviceRequestObject) (CreateDeviceResponseObject, error) {
	want := identity.CreateDevice{
		Label:          request.Body.Label,
		Scopes:         orZero(request.Body.Scopes),
		IdempotencyKey: orZero(request.Params.IdempotencyKey),
	}
	if request.Body.ClientID != nil {
		client, err := s.tokens.PublicClientOf(ctx, caller(ctx).Tenant, clientOrNone(*request.Body.ClientID))
		if err != nil {
			return nil, err
		}
		want.Client = client
	}
	created, err := s.directory.CreateDevice(ctx, caller(ctx), want)
	if err != nil {
		return nil, err
	}
	return CreateDevice201JSONResponse{
		Body: createdDevice(created),
		Headers: CreateDevice201ResponseHeaders{
			ETag: etag(created.Revision), IdempotentReplayed: replayed(created.Replayed), CacheControl: noStore,
		},
	}, nil
}

// GetDevice serves GET /v1/devices/{device_id}.
func (s *server) GetDevice(ctx context.Context, request GetDeviceRequestObject) (GetDeviceResponseObject, error) {
	id, err := deviceID(request.DeviceID)
	if err != nil {
		return nil, err
	}
	device, err := s.directory.GetDevice(ctx, caller(ctx), id)
	if err != nil {
		return nil, err
	}
	return GetDevice200JSONResponse{Body: encodeDevice(device), Headers: GetDevice200ResponseHeaders{ETag: etag(device.Revision)}}, nil
}

// PatchDevice serves PATCH /v1/devices/{device_id}.
func (s *server) PatchDevice(ctx context.Context, request PatchDeviceRequestObject) (PatchDeviceResponseObject, error) {
	body := request.JSONBody
	if body == nil {
		body = request.ApplicationMergePatchPlusJSONBody
	}
	id, err := deviceID(request.DeviceID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	patch, err := decodeDevicePatch(body)
	if err != nil {
		return nil, err
	}
	device, err := s.directory.PatchDevice(ctx, caller(ctx), id, revision, patch)
	if err != nil {
		return nil, err
	}
	return PatchDevice200JSONResponse{Body: encodeDevice(device), Headers: PatchDevice200ResponseHeaders{ETag: etag(device.Revision)}}, nil
}

// RevokeDevice serves DELETE /v1/devices/{device_id}.
func (s *server) RevokeDevice(ctx context.Context, request RevokeDeviceRequestObject) (RevokeDeviceResponseObject, error) {
	id, err := deviceID(request.DeviceID)
	if err != nil {
		return nil, err
	}
	revision, err := ifMatch(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	if err := s.directory.RevokeDevice(ctx, caller(ctx), id, revision); err != nil {
		return nil, err
	}
	return RevokeDevice204Response{}, nil
}

// ListAccountDevices serves GET /v1/accounts/{account_id}/devices.
func (s *server) ListAccountDevices(ctx context.Context, request ListAccountDevicesRequestObject) (ListAccountDevicesResponseObject, error) {
	account, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	status := (*identity.DeviceStatus)(request.Params.Status)
	list := listing{tenant: caller(ctx).Tenant, name: "account_devices", filter: account.String() + string(orZero(status))}
	after, err := resume(s.cursors, list, request.Params.Cursor, byID[domain.DeviceKind])
	if err != nil {
		return nil, err
	}
	page, err := s.directory.AccountDevices(ctx, caller(ctx), account, status, after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	response := ListAccountDevices200JSONResponse{Devices: encodeAll(page.Devices, encodeDevice)}
	if page.Next != nil {
		response.NextCursor = nextCursor(s.cursors, list, true, page.Next[:])
	}
	return response, nil
}

// decodeDevicePatch tells the members that must not be there from the one that
// may, with the reason.
func decodeDevicePatch(body *DevicePatch) (identity.DevicePatch, error) {
	const immutable = "A device's codes, and when they end, never change. Make another device."
	var refused *domain.Error
	if body.UserCode != nil {
		refused = domain.Invalid("user_code_immutable", immutable).At("/user_code")
	}
	if body.ExpiresAt != nil {
		expiry := domain.Invalid("expires_at_immutable", immutable).At("/expires_at")
		if refused == nil {
			refused = expiry
		} else {
			refused.Fields = append(refused.Fields, expiry.Fields...)
		}
	}
	if refused != nil {
		return identity.DevicePatch{}, refused
	}
	return identity.DevicePatch{Label: patchedText(body.Label)}, nil
}

func encodeDevice(d identity.Device) Device {
	encoded := Device{
		ID:         d.ID.String(),
		Revision:   d.Revision,
		Status:     string(d.Status),
		Label:      d.Label,
		Scopes:     orEmpty(d.Scopes),
		UserCode:   textOrNil(d.UserCode.String()),
		ExpiresAt:  utcOrNil(d.ExpiresAt),
		CreatedAt:  d.CreatedAt.UTC(),
		UpdatedAt:  d.UpdatedAt.UTC(),
		ApprovedAt: utcOrNil(d.ApprovedAt),
		RedeemedAt: utcOrNil(d.RedeemedAt),
	}
	if !d.Account.IsZero() {
		encoded.AccountID = textOrNil(d.Account.String())
	}
	if !d.Client.IsZero() {
		encoded.ClientID = textOrNil(tenancy.ClientIDText(d.Client))
	}
	return encoded
}

func createdDevice(c identity.CreatedDevice) CreatedDevice {
	d := encodeDevice(c.Device)
	return CreatedDevice{
		ID:         d.ID,
		Revision:   d.Revision,
		Status:     d.Status,
		AccountID:  d.AccountID,
		Label:      d.Label,
		ClientID:   d.ClientID,
		Scopes:     d.Scopes,
		UserCode:   d.UserCode,
		ExpiresAt:  d.ExpiresAt,
		CreatedAt:  d.CreatedAt,
		UpdatedAt:  d.UpdatedAt,
		ApprovedAt: d.ApprovedAt,
		RedeemedAt: d.RedeemedAt,
		DeviceCode: textOrNil(c.DeviceCode),
	}
}
