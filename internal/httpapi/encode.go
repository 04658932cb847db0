package httpapi

import (
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func encodeAccount(a identity.Account) Account {
	return Account{
		ID:              a.ID.String(),
		Revision:        a.Revision,
		Status:          string(a.Status),
		Handle:          a.Handle.String(),
		Email:           textOrNil(a.Email.String()),
		EmailVerifiedAt: utcOrNil(a.EmailVerifiedAt),
		DisplayName:     a.DisplayName,
		Attributes:      a.Attributes,
		CreatedAt:       a.CreatedAt.UTC(),
		UpdatedAt:       a.UpdatedAt.UTC(),
	}
}

func createdAccount(c identity.Created) CreatedAccount {
	a := encodeAccount(c.Account)
	created := CreatedAccount{
		ID:              a.ID,
		Revision:        a.Revision,
		Status:          a.Status,
		Handle:          a.Handle,
		Email:           a.Email,
		EmailVerifiedAt: a.EmailVerifiedAt,
		DisplayName:     a.DisplayName,
		Attributes:      a.Attributes,
		CreatedAt:       a.CreatedAt,
		UpdatedAt:       a.UpdatedAt,
	}
	if change := c.EmailChange; change != nil {
		encoded := encodeEmailChange(*change)
		created.EmailChange = &encoded
	}
	return created
}

func encodeEmailChange(c identity.EmailChange) EmailChange {
	return EmailChange{ID: c.ID.String(), Email: c.Email.String(), Code: c.Code, ExpiresAt: c.ExpiresAt.UTC()}
}

// decodePatch tells the members that must not be there from those that may,
// with the reason.
func decodePatch(body *AccountPatch) (identity.AccountPatch, error) {
	email := domain.Invalid("email_not_patchable",
		"An email changes only through an email change, which its owner confirms.").At("/email")
	switch {
	case body.Handle != nil:
		handle := domain.Invalid("handle_immutable", "A handle never changes.").At("/handle")
		if body.Email != nil {
			handle.Fields = append(handle.Fields, email.Fields...)
		}
		return identity.AccountPatch{}, handle
	case body.Email != nil:
		return identity.AccountPatch{}, email
	}
	return identity.AccountPatch{
		Status:      (*identity.Status)(body.Status),
		Attributes:  body.Attributes,
		DisplayName: patchedText(body.DisplayName),
	}, nil
}

// patchedText is nil for what is to stay, and a pointer to nil for what is to go.
func patchedText(field nullable.Nullable[string]) **string {
	if !field.IsSpecified() {
		return nil
	}
	var text *string
	if given, err := field.Get(); err == nil { // else it is null
		text = &given
	}
	return &text
}

// encodeAll never gives nil, which JSON would spell null.
func encodeAll[From, To any](from []From, encode func(From) To) []To {
	to := make([]To, len(from))
	for i, one := range from {
		to[i] = encode(one)
	}
	return to
}

// orEmpty is texts, and never nil.
func orEmpty(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// replayed is the header Idempotent-Replayed, which is absent when it isn't so.
func replayed(is bool) *string {
	if !is {
		return nil
	}
	yes := "true"
	return &yes
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// nil is null in an answer.

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func utcOrNil(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}
