package httpapi

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// state reads the representation of what an act is about, as the API's lists and
// gets give it. A nil state is of what has none.
type state func(ctx context.Context) (any, error)

// auditor reads what acts are about, whatever the caller may see of it.
func auditor() tenancy.Scope {
	return tenancy.Scope{Tenant: tenancy.Operators, Name: "audit", Scopes: tenancy.OperatorScopes()}
}

// digest is that of the representation as it is now; zero where there is none, or
// where it can't be read: the act is what matters.
func (s state) digest(ctx context.Context) audit.Hash {
	if s == nil {
		return audit.Hash{}
	}
	thing, err := s(ctx)
	if err != nil {
		return audit.Hash{}
	}
	return digestOf(thing)
}

func digestOf(thing any) audit.Hash {
	text, err := json.Marshal(thing)
	if err != nil {
		return audit.Hash{}
	}
	hash, err := audit.Digest(text)
	if err != nil {
		return audit.Hash{}
	}
	return hash
}

// stateOf is that of the innermost thing that the path names and whose state is read
// here. What an operation makes has none yet.
func (s *server) stateOf(call *call) state {
	if call.operation.creates {
		return nil
	}
	subjects, tenant := call.act.entry.Subjects, call.act.entry.Tenant
	named := func(name string) bool { return subjects[name] != "" }
	switch {
	case named("migration_id"):
		return func(ctx context.Context) (any, error) {
			m, err := s.migrations.Migration(ctx, tenant, migrationID(subjects["migration_id"]))
			return encodeMigration(m), err
		}
	case named("key_id"):
		return described(subjects["key_id"], keyID, encodeKey, func(ctx context.Context, id domain.KeyID) (tenancy.Key, error) {
			return s.administration.Key(ctx, auditor(), tenant, id)
		})
	case named("principal_id"):
		return s.principalState(tenant, subjects["principal_id"])
	case named("operator_id"):
		return s.principalState(tenancy.Operators, subjects["operator_id"])
	case named("client_id"):
		return described(subjects["client_id"], clientID, encodeClient, func(ctx context.Context, id domain.ClientID) (tenancy.Client, error) {
			return s.administration.Client(ctx, auditor(), tenant, id)
		})
	case named("issuer_id"):
		return described(subjects["issuer_id"], issuerID, encodeIssuer, func(ctx context.Context, id tenancy.IssuerID) (tenancy.Issuer, error) {
			return s.administration.TrustedIssuer(ctx, auditor(), tenant, id)
		})
	case named("world_id"):
		return nil // its journal tells all of it
	case call.operation.id == "setLimits":
		return described(subjects["tenant_id"], tenantID, encodeLimits, func(ctx context.Context, id domain.TenantID) (limits.Set, error) {
			return s.tenantLimits.Limits(ctx, auditor(), id)
		})
	case named("tenant_id"):
		return described(subjects["tenant_id"], tenantID, encodeTenant, func(ctx context.Context, id domain.TenantID) (tenancy.Tenant, error) {
			return s.administration.Tenant(ctx, auditor(), id)
		})
	default:
		return nil
	}
}

func (s *server) principalState(tenant domain.TenantID, text string) state {
	return described(text, principalID, encodePrincipal, func(ctx context.Context, id domain.PrincipalID) (tenancy.Principal, error) {
		return s.administration.Principal(ctx, auditor(), tenant, id)
	})
}

// described reads the thing of an id and gives its representation.
func described[ID, T, R any](text string, parse func(string) (ID, error), encode func(T) R, read func(context.Context, ID) (T, error)) state {
	return func(ctx context.Context) (any, error) {
		id, err := parse(text)
		if err != nil {
			return nil, err
		}
		thing, err := read(ctx, id)
		if err != nil {
			return nil, err
		}
		return encode(thing), nil
	}
}

// told takes down what the answer tells: the id of what was made, and the digest of
// the answer, without what is shown once.
func (a *act) told(response any) {
	body := reflect.ValueOf(response)
	if body.Kind() != reflect.Struct {
		return
	}
	if inner := body.FieldByName("Body"); inner.IsValid() {
		body = inner
	}
	text, err := json.Marshal(body.Interface())
	if err != nil {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return
	}
	var id string
	if json.Unmarshal(members["id"], &id) == nil && id != "" {
		a.entry.Subjects["id"] = cutText(id, maxSubject)
	}
	for _, secret := range []string{"api_key", "access_token"} {
		delete(members, secret)
	}
	a.entry.After = digestOf(members)
}
