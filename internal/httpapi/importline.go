package httpapi

import (
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// decodeImportLine gives the line as the domain has it, and where in the line
// the record stands. The schema has seen to it that there is exactly one record.
func decodeImportLine(body ImportLine) (line identity.ImportLine, place string) {
	line.Key = body.Key
	if account := body.Account; account != nil {
		line.Account = &identity.ImportAccount{
			Handle:          account.Handle,
			Email:           account.Email,
			EmailVerified:   account.EmailVerified,
			EmailVerifiedAt: account.EmailVerifiedAt,
			DisplayName:     account.DisplayName,
			Attributes:      account.Attributes,
			Status:          identity.Status(orZero(account.Status)),
			CreatedAt:       account.CreatedAt,
		}
		return line, "/account"
	}
	device := body.Device
	line.Device = &identity.ImportDevice{
		AccountKey: orZero(device.AccountKey),
		Label:      device.Label,
		Status:     identity.DeviceStatus(device.Status),
		UserCode:   device.UserCode,
		ExpiresAt:  device.ExpiresAt,
		CreatedAt:  device.CreatedAt,
	}
	if device.AccountID != nil && line.Device.Account.UnmarshalText([]byte(*device.AccountID)) != nil {
		line.Refused = invalidFields([]domain.Field{{Pointer: "/account_id", Code: "wrong_format"}})
	}
	return line, "/device"
}
