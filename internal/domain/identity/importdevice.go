package identity

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// readDevice takes a line of a device. Its label's and its code's rules are those
// of every device.
func (r *importRun) readDevice(key string, line ImportDevice) (*importJob, error) {
	if err := checkLabel(line.Label); err != nil {
		return nil, err
	}
	createdAt, err := past(line.CreatedAt, time.Now(), "/created_at")
	if err != nil {
		return nil, err
	}
	code, expiresAt, err := line.code()
	if err != nil {
		return nil, err
	}
	account, pointer, err := r.accountOf(line)
	if err != nil {
		return nil, err
	}
	if err := line.checkStatus(account); err != nil {
		return nil, err
	}
	device := &deviceRow{
		Device: Device{
			ID:       importID[domain.DeviceKind](r.scope.Settings.IDKey, domain.FamilyDevice, key),
			Status:   line.Status,
			Account:  account,
			Label:    line.Label,
			UserCode: code, ExpiresAt: expiresAt,
			CreatedAt: orZero(createdAt),
		},
		pollInterval: PollInterval,
	}
	line.CreatedAt, line.ExpiresAt = createdAt, expiresAt
	device.fingerprint = fingerprintOfLine(line)

	record := deviceRef(device.ID)
	job := &importJob{
		record: record,
		has:    append(namesOf(device.links()), nameOf(record)),
		make:   func(ctx context.Context) (bool, error) { return r.makeDevice(ctx, *device, pointer) },
	}
	if !account.IsZero() {
		job.needs = []importName{nameOf(accountRef(account))}
	}
	return job, nil
}

// makeDevice makes a device, which is a copy of the line's for each attempt.
// pointer is where the line names its account.
func (r *importRun) makeDevice(ctx context.Context, device deviceRow, pointer string) (exists bool, err error) {
	if lapsed(&device, time.Now()) {
		return r.lapsedDevice(ctx, &device)
	}
	found, err := r.s.makeDevice(ctx, r.scope.Tenant, &newDevice{device: &device, actor: principalActor(r.scope)})
	switch {
	case errors.Is(err, errNoAccount):
		return false, domain.NotFound(errNoAccount.Code, "There is no such account. Its line goes before its devices', and must have succeeded.").At(pointer)
	case err != nil || found == nil:
		return false, err
	case !bytes.Equal(found.fingerprint, device.fingerprint):
		return false, errLineReused
	}
	return true, nil
}

// lapsed tells a device that nobody can approve any more.
func lapsed(d *deviceRow, now time.Time) bool {
	return d.Status == DevicePending && !now.Before(*d.ExpiresAt)
}

// lapsedDevice refuses a device that the cleanup would take away at once, but not
// the line that made it when it was in time.
func (r *importRun) lapsedDevice(ctx context.Context, device *deviceRow) (exists bool, err error) {
	found, err := r.s.read(ctx, r.scope.Tenant, deviceRef(device.ID), true)
	switch {
	case err != nil:
		return false, err
	case found.device == nil:
		return false, domain.Invalid("user_code_expired", "The user code has expired, so nobody can approve the device any more. Leave it out.").At("/expires_at")
	case !bytes.Equal(found.device.fingerprint, device.fingerprint):
		return false, errLineReused
	}
	return true, nil
}

// maxImportedCode bounds how long an imported user code may still live: one that
// people type must not be worth guessing for long.
const maxImportedCode = 24 * time.Hour

// code gives the device's user code and when it expires; neither if it has none.
func (line ImportDevice) code() (UserCode, *time.Time, error) {
	switch {
	case line.UserCode == nil && line.ExpiresAt == nil:
		return UserCode{}, nil, nil
	case line.UserCode == nil:
		return UserCode{}, nil, domain.Invalid("user_code_missing", "There is no user code that expires then.").At("/expires_at")
	case line.ExpiresAt == nil:
		return UserCode{}, nil, domain.Invalid("expires_at_missing", "A user code needs the time at which it expires.").At("/expires_at")
	case line.ExpiresAt.After(time.Now().Add(maxImportedCode)):
		return UserCode{}, nil, domain.Invalid("expires_at_too_late", "A user code expires within a day.").At("/expires_at")
	}
	code, err := ParseUserCode(*line.UserCode)
	return code, new(line.ExpiresAt.UTC().Truncate(time.Microsecond)), at(err, "/user_code")
}

// accountOf gives the device's account, zero if it names none, and where it does.
func (r *importRun) accountOf(line ImportDevice) (account domain.AccountID, pointer string, err error) {
	switch {
	case line.AccountKey == "":
		return line.Account, "/account_id", nil
	case !line.Account.IsZero():
		return account, "", domain.Invalid("account_named_twice", "A device names its account by its key or by its id.").At("/account_key")
	}
	return importID[domain.AccountKind](r.scope.Settings.IDKey, domain.FamilyAccount, line.AccountKey), "/account_key", nil
}

func (line ImportDevice) checkStatus(account domain.AccountID) error {
	switch line.Status {
	case DeviceApproved:
		if account.IsZero() {
			return domain.Invalid("account_missing", "An approved device needs the account that it was approved for.").At("/account_key")
		}
	case DevicePending:
		if !account.IsZero() {
			return domain.Invalid("account_unexpected", "A pending device has no account yet.").At("/account_key")
		}
		if line.UserCode == nil {
			return domain.Invalid("user_code_missing", "A pending device needs the user code by which it can be approved.").At("/user_code")
		}
	case DeviceRevoked:
	default:
		return domain.Invalid("status_invalid", `A device is imported as "approved", "revoked" or "pending".`).At("/status")
	}
	return nil
}
