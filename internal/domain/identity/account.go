package identity

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Status of an account.
type Status string

const (
	Active   Status = "active"
	Disabled Status = "disabled" // resolvable, and its own application's business what it may still do
	deleted  Status = "deleted"  // a tombstone: never shown
)

// Account is a committed record. Its ETag is the revision, which every
// committed change raises by exactly one.
type Account struct {
	ID              domain.AccountID
	Revision        int64 // from 1
	Status          Status
	Handle          Handle // zero for a tombstone that is out of its quarantine
	Email           Email  // zero while none is verified
	EmailVerifiedAt *time.Time
	DisplayName     *string         // at most 200 characters
	Attributes      json.RawMessage // a JSON object of the tenant's own, at most 16 KiB
	CreatedAt       time.Time
	UpdatedAt       time.Time
}

// accountRow is an account with what only the protocol looks at.
type accountRow struct {
	Account
	handleToken      domain.Token
	skeletonToken    domain.Token // zero where the policy claims no skeleton
	emailToken       domain.Token // zero without an email
	fingerprint      []byte
	quarantinedUntil *time.Time // a tombstone holds its handle until then
}

// links are the claims that back the record. A tombstone that is out of its
// quarantine has none.
func (a *accountRow) links() []link {
	if a.Handle.IsZero() {
		return nil
	}
	links := []link{linkTo(domain.FamilyHandle, a.Handle.Key(), a.handleToken)}
	if skeleton := a.Handle.Skeleton(); skeleton != "" {
		links = append(links, linkTo(domain.FamilyHandle, skeleton, a.skeletonToken))
	}
	if !a.Email.IsZero() {
		links = append(links, linkTo(domain.FamilyEmail, a.Email.Key(), a.emailToken))
	}
	return links
}

// holds tells whether the record stands for a claim: it has the key under that
// token, and if it is a tombstone its quarantine has not ended.
func (a *accountRow) holds(claim link, now time.Time) bool {
	if a.Status == deleted && (a.quarantinedUntil == nil || !now.Before(*a.quarantinedUntil)) {
		return false
	}
	return slices.Contains(a.links(), claim)
}

// fields are the names of those that the account has.
func (a *accountRow) fields() []string {
	fields := []string{"handle"}
	if !a.Email.IsZero() {
		fields = append(fields, "email")
	}
	if a.DisplayName != nil {
		fields = append(fields, "display_name")
	}
	if string(a.Attributes) != "{}" {
		fields = append(fields, "attributes")
	}
	return fields
}

// visible tells whether a reader may see the account.
func (a *accountRow) visible() bool { return a != nil && a.Status != deleted }

const accountColumns = `a.account_id, a.revision, a.status,
       a.handle, a.handle_key, a.handle_token, a.skeleton_key, a.skeleton_token,
       a.email, a.email_key, a.email_token, a.email_verified_at,
       a.display_name, a.attributes, a.fingerprint, a.created_at, a.updated_at, a.quarantined_until`

// scanAccount scans what the caller's columns begin with, then accountColumns.
func scanAccount(row pgx.CollectableRow, before ...any) (*accountRow, error) {
	var a accountRow
	var handle, handleKey, skeleton, email, emailKey *string
	var handleToken, skeletonToken, emailToken *domain.Token
	err := row.Scan(append(before, &a.ID, &a.Revision, &a.Status,
		&handle, &handleKey, &handleToken, &skeleton, &skeletonToken,
		&email, &emailKey, &emailToken, &a.EmailVerifiedAt,
		&a.DisplayName, &a.Attributes, &a.fingerprint, &a.CreatedAt, &a.UpdatedAt, &a.quarantinedUntil)...)
	if err != nil {
		return nil, err
	}
	a.Handle = RestoreHandle(orZero(handle), orZero(handleKey), orZero(skeleton))
	a.Email = RestoreEmail(orZero(email), orZero(emailKey))
	a.handleToken, a.skeletonToken, a.emailToken = orZero(handleToken), orZero(skeletonToken), orZero(emailToken)
	return &a, nil
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// orNil is the inverse: SQL's NULL for the zero value.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
