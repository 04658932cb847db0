package identity

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// DeviceStatus is where a device stands between asking and being let in.
type DeviceStatus string

const (
	DevicePending  DeviceStatus = "pending"  // waits for somebody who knows its user code
	DeviceApproved DeviceStatus = "approved" // an account's
	DeviceDenied   DeviceStatus = "denied"
	DeviceRevoked  DeviceStatus = "revoked" // was approved, and is no more
)

// Device is a committed record. Its user code and the code's expiry never
// change; an approved device lives on behind its code.
type Device struct {
	ID         domain.DeviceID
	Revision   int64 // from 1
	Status     DeviceStatus
	Account    domain.AccountID // zero until it is approved
	Label      *string          // at most 200 characters
	Client     domain.ClientID  // the public client that it asked through; zero for none
	Scopes     []string         // what it asked for, in the tenant's own words
	UserCode   UserCode         // zero for one that was imported without
	ExpiresAt  *time.Time       // when the user code ends; nil without one
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ApprovedAt *time.Time
	RedeemedAt *time.Time // when its device code was turned into tokens
}

// deviceRow is a device with what only the protocol and the device flow look at.
type deviceRow struct {
	Device
	userCodeToken domain.Token
	secretHash    []byte // of the device code's secret
	serverKeyID   string // that the secret derives from
	pollInterval  time.Duration
	polledAt      *time.Time // the last poll of all
	pacedAt       *time.Time // the last that kept its distance
	refresh       refreshChain
	fingerprint   []byte
}

// refreshChain is the device's rotating refresh token: only the last of the
// chain is good.
type refreshChain struct {
	generation  int64  // how many there were; 0 before the first
	hash        []byte // of the last one's secret; nil when there is none
	serverKeyID string // that all of the chain derive from
	expiresAt   *time.Time
}

// links are the claims that back the record.
func (d *deviceRow) links() []link {
	if d.UserCode.IsZero() {
		return nil
	}
	return []link{linkTo(domain.FamilyDeviceCode, d.UserCode.Key(), d.userCodeToken)}
}

// holds tells whether the record stands for a claim: it has the code under that
// token, and the code has not expired.
func (d *deviceRow) holds(claim link, now time.Time) bool {
	links := d.links()
	return len(links) == 1 && links[0] == claim && now.Before(*d.ExpiresAt)
}

// fields are the names of those that the device has.
func (d *deviceRow) fields() []string {
	var fields []string
	if !d.Account.IsZero() {
		fields = append(fields, "account_id")
	}
	if !d.Client.IsZero() {
		fields = append(fields, "client_id")
	}
	if d.Label != nil {
		fields = append(fields, "label")
	}
	if len(d.Scopes) > 0 {
		fields = append(fields, "scopes")
	}
	return append(fields, "status")
}

const deviceColumns = `d.device_id, d.revision, d.status, d.account_id, d.label, d.client_id, d.scopes,
       d.user_code, d.user_code_token, d.expires_at, d.secret_hash, d.server_key_id,
       d.poll_interval, d.polled_at, d.paced_at,
       d.refresh_generation, d.refresh_hash, d.refresh_key_id, d.refresh_expires_at,
       d.fingerprint, d.created_at, d.updated_at, d.approved_at, d.redeemed_at`

// scanDevice scans what the caller's columns begin with, then deviceColumns.
func scanDevice(row pgx.CollectableRow, before ...any) (*deviceRow, error) {
	var d deviceRow
	var account *domain.AccountID
	var client *domain.ClientID
	var code, serverKeyID, refreshKeyID *string
	var token *domain.Token
	var interval int16
	err := row.Scan(append(before, &d.ID, &d.Revision, &d.Status, &account, &d.Label, &client, &d.Scopes,
		&code, &token, &d.ExpiresAt, &d.secretHash, &serverKeyID,
		&interval, &d.polledAt, &d.pacedAt,
		&d.refresh.generation, &d.refresh.hash, &refreshKeyID, &d.refresh.expiresAt,
		&d.fingerprint, &d.CreatedAt, &d.UpdatedAt, &d.ApprovedAt, &d.RedeemedAt)...)
	if err != nil {
		return nil, err
	}
	d.Account, d.Client = orZero(account), orZero(client)
	d.UserCode = RestoreUserCode(orZero(code))
	d.userCodeToken = orZero(token)
	d.serverKeyID, d.refresh.serverKeyID = orZero(serverKeyID), orZero(refreshKeyID)
	d.pollInterval = time.Duration(interval) * time.Second
	return &d, nil
}
