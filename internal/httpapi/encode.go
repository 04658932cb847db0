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
		Email:           textOrNull(a.Email.String()),
		EmailVerifiedAt: utcOrNull(a.EmailVerifiedAt),
		DisplayName:     orNull(a.DisplayName),
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
		created.EmailChange = &EmailChange{ID: change.ID.String(), Code: change.Code, ExpiresAt: change.ExpiresAt.UTC()}
	}
	return created
}

// decodePatch tells the members that must not be there from those that may,
// with the reason.
func decodePatch(body *AccountPatch) (identity.AccountPatch, error) {
	switch {
	case body.Handle != nil:
		return identity.AccountPatch{}, domain.Invalid("handle_immutable", "A handle never changes.").At("/handle")
	case body.Email != nil:
		return identity.AccountPatch{}, domain.Invalid("email_not_patchable",
			"An email changes only through an email change, which its owner confirms.").At("/email")
	}
	patch := identity.AccountPatch{Status: (*identity.Status)(body.Status), Attributes: body.Attributes}
	if body.DisplayName.IsSpecified() {
		name := fromNullable(body.DisplayName)
		patch.DisplayName = &name
	}
	return patch, nil
}

// encodeAll never gives nil, which JSON would spell null.
func encodeAll[From, To any](from []From, encode func(From) To) []To {
	to := make([]To, len(from))
	for i, one := range from {
		to[i] = encode(one)
	}
	return to
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

func orNull[T any](p *T) nullable.Nullable[T] {
	if p == nil {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(*p)
}

func textOrNull(s string) nullable.Nullable[string] {
	if s == "" {
		return nullable.NewNullNullable[string]()
	}
	return nullable.NewNullableWithValue(s)
}

func utcOrNull(t *time.Time) nullable.Nullable[time.Time] {
	if t == nil || t.IsZero() {
		return nullable.NewNullNullable[time.Time]()
	}
	return nullable.NewNullableWithValue(t.UTC())
}

// fromNullable is nil for null and for what is absent.
func fromNullable[T any](n nullable.Nullable[T]) *T {
	value, err := n.Get()
	if err != nil {
		return nil
	}
	return &value
}
