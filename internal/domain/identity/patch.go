package identity

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// AccountPatch changes what is no lookup key. A nil field stays as it is.
type AccountPatch struct {
	DisplayName **string        // a pointer to nil removes the name
	Status      *Status         // Active or Disabled
	Attributes  json.RawMessage // a merge patch (RFC 7396) of the object
}

var errStale = domain.PreconditionFailed("revision_stale",
	"The account has changed since you read it. Read it again and repeat the change with its new ETag.")

// The operation beside the account is not looked at: a change of no key goes
// through whatever is prepared, which then fails its own commit because its
// revision has gone.
const sqlPatchAccount = `
UPDATE accounts SET revision = $5, status = $6, display_name = $7, attributes = $8::json, updated_at = $9
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

// sqlDemandRevision holds the account to the revision that was decided. The
// row is locked, so what it sees is what this transaction wrote.
const sqlDemandRevision = `
SELECT demand(count(*) = 1) FROM accounts
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4`

// Patch changes an account that is still at the revision given, in one
// transaction in its own bucket.
//
// Errors: precondition failed on another revision, not found, invalid.
func (s *Service) Patch(ctx context.Context, scope tenancy.Scope, id domain.AccountID, revision int64, patch AccountPatch) (Account, error) {
	if patch.DisplayName != nil {
		if err := checkDisplayName(*patch.DisplayName); err != nil {
			return Account{}, err
		}
	}
	var changed Account
	err := s.changeAccount(ctx, scope.Tenant, accountRef(id), needs{}, func(a *lockedAccount) error {
		switch {
		case !a.account.visible():
			return errNoAccount
		case a.account.Revision != revision:
			return errStale
		}
		next, err := patch.apply(a.account.Account)
		if err != nil {
			return err
		}
		a.revise(sqlPatchAccount, AccountChanged, patch.fields(), principalActor(scope),
			next.Status, next.DisplayName, string(next.Attributes), a.now)
		next.Revision, next.UpdatedAt = a.account.Revision, a.now
		changed = next
		return nil
	})
	return changed, err
}

// fields are the names of those that the patch speaks of.
func (p AccountPatch) fields() (fields []string) {
	if p.Attributes != nil {
		fields = append(fields, "attributes")
	}
	if p.DisplayName != nil {
		fields = append(fields, "display_name")
	}
	if p.Status != nil {
		fields = append(fields, "status")
	}
	return fields
}

func (p AccountPatch) apply(a Account) (Account, error) {
	if p.DisplayName != nil {
		a.DisplayName = *p.DisplayName
	}
	if p.Status != nil {
		a.Status = *p.Status
	}
	if p.Attributes != nil {
		merged, err := mergeAttributes(a.Attributes, p.Attributes)
		if err != nil {
			return Account{}, err
		}
		a.Attributes = merged
	}
	return a, nil
}

// mergeAttributes is RFC 7396 on two objects. Numbers keep their digits.
func mergeAttributes(target, patch json.RawMessage) (json.RawMessage, error) {
	if _, err := checkAttributes(patch); err != nil {
		return nil, err
	}
	var into, from any
	if err := decodeExact(target, &into); err != nil {
		return nil, err
	}
	if err := decodeExact(patch, &from); err != nil {
		return nil, err
	}
	var merged bytes.Buffer
	encoder := json.NewEncoder(&merged)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(mergePatch(into, from)); err != nil {
		return nil, err
	}
	return checkAttributes(merged.Bytes())
}

func decodeExact(raw json.RawMessage, into *any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
			continue
		}
		object[name] = mergePatch(object[name], value)
	}
	return object
}
