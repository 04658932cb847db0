package tenancy

import (
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Operators is the tenant id that stands for no tenant: operators' principals,
// keys and acts belong to it. It never has a gate, so no domain transaction can
// be entered with it.
var Operators = domain.TenantID{}

// Scope is who is calling and what they may do. Every exported method that
// reads or writes a tenant's data demands one, so that authorization can't be
// skipped. It is made by verifying a token and never by a request's own words.
type Scope struct {
	Tenant    domain.TenantID // Operators for an operator
	Principal domain.PrincipalID
	Key       domain.KeyID // the API key that bought the token; zero where another issuer made it
	Name      string       // the principal's name; two-person rules compare it
	Scopes    []string     // granted, sorted: "identity:read", …
	Settings  Settings     // the tenant's; zero for an operator
	External  External     // zero for who has a principal here
	Expires   time.Time    // of the token; what goes on for long ends by then
}

// External is who calls with a token of an issuer that the tenant trusts.
type External struct {
	Issuer  string // the iss claim
	Subject string // the sub claim, in that issuer's words
	Trust   IssuerID
}

// Settings are what the domain must know of a tenant. They are fixed when the
// tenant is made, so they may be cached for as long as a process lives.
type Settings struct {
	HandlePolicy string // "ascii" or "unicode"
	IDKey        []byte // 32 bytes: ids derive from idempotency keys by its HMAC
}

// Allows tells whether the caller was granted the scope.
func (s Scope) Allows(scope string) bool {
	_, found := slices.BinarySearch(s.Scopes, scope)
	return found
}

// IsOperator tells an operator from a tenant's principal.
func (s Scope) IsOperator() bool { return s.Tenant == Operators }
