package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	maxAttributes  = 16 << 10 // bytes of JSON
	maxDisplayName = 200      // characters
)

// newAccount canonicalizes a request, once and for all, into the record that it
// asks for and the email change that begins with it.
func (s *Service) newAccount(scope tenancy.Scope, req CreateAccount) (*accountRow, *emailChange, error) {
	policy, err := ParseHandlePolicy(scope.Settings.HandlePolicy)
	if err != nil {
		return nil, nil, err
	}
	handle, err := ParseHandle(policy, s.reserved, req.Handle)
	if err != nil {
		return nil, nil, at(err, "/handle")
	}
	if err := checkDisplayName(req.DisplayName); err != nil {
		return nil, nil, err
	}
	attributes, err := checkAttributes(req.Attributes)
	if err != nil {
		return nil, nil, err
	}
	a := &accountRow{Account: Account{Status: Active, Handle: handle, DisplayName: req.DisplayName, Attributes: attributes}}
	if req.IdempotencyKey == "" {
		a.ID = domain.NewID[domain.AccountKind](time.Now())
	} else {
		a.ID = domain.DeriveID[domain.AccountKind](scope.Settings.IDKey, "account", scope.Principal.String(), req.IdempotencyKey)
		req.Attributes = unlessEmpty(attributes)
		a.fingerprint = fingerprintOf(req)
	}
	if req.Email == nil {
		return a, nil, nil
	}
	email, err := ParseEmail(policy, *req.Email)
	if err != nil {
		return nil, nil, at(err, "/email")
	}
	if !req.EmailVerified {
		return a, s.newEmailChange(domain.NewID[domain.EmailChangeKind](time.Now()), email), nil
	}
	a.Email = email
	return a, nil, nil
}

func checkDisplayName(name *string) error {
	if name != nil && utf8.RuneCountInString(*name) > maxDisplayName {
		return domain.Invalid("display_name_too_long", "A display name has at most 200 characters.").At("/display_name")
	}
	return nil
}

// checkAttributes gives the object in its compact form.
func checkAttributes(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return json.RawMessage("{}"), nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || compact.Len() == 0 || compact.Bytes()[0] != '{' {
		return nil, domain.Invalid("attributes_invalid", "The attributes are one JSON object.").At("/attributes")
	}
	if compact.Len() > maxAttributes {
		return nil, domain.Invalid("attributes_too_large", "The attributes have at most 16 KiB of JSON.").At("/attributes")
	}
	return compact.Bytes(), nil
}

// unlessEmpty is nil for the empty object: an account is the same without
// attributes and with none in them, and so is what a fingerprint is made of.
func unlessEmpty(compact json.RawMessage) json.RawMessage {
	if string(compact) == "{}" {
		return nil
	}
	return compact
}

// at points a parser's refusal at the part of the request that it read.
func at(err error, pointer string) error {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.At(pointer)
	}
	return err
}

// replay answers a repeated creation from the account that the first one made.
func (s *Service) replay(ctx context.Context, tenant domain.TenantID, asked, found *accountRow) (Created, error) {
	switch {
	case !bytes.Equal(asked.fingerprint, found.fingerprint):
		return Created{}, errKeyReused
	case found.Status == deleted:
		return Created{}, errDeleted
	}
	change, err := s.pendingEmailChange(ctx, tenant, found.ID)
	if err != nil {
		return Created{}, err
	}
	if change != nil && !change.ExpiresAt.Equal(found.CreatedAt.Add(emailChangeTerm)) {
		change = nil // begun since, and its code is for whoever began it
	}
	return Created{Account: found.Account, Replayed: true, EmailChange: change}, nil
}

// helpEarlier looks into an earlier request with the same key that has not
// committed. It returns nil if that one is finished and this one may go on.
func (s *Service) helpEarlier(ctx context.Context, tenant domain.TenantID, fingerprint []byte, found *reading) error {
	switch {
	case !bytes.Equal(fingerprint, found.operation.fingerprint):
		return errKeyReused
	case !found.operation.overdue(found.now):
		return errInFlight.After(max(found.operation.deadline.Sub(found.now), time.Second))
	default:
		return s.help(ctx, tenant, found.operation)
	}
}
