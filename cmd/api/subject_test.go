package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// subject is a stack with one of each thing that a path can name, so that every
// operation has a request that succeeds.
type subject struct {
	*stack
	api              *running
	owner, neighbour customer
	account          string // the owner's
	handle           string // the account's
	client           string // the owner's
	device           string // the owner's; nobody has approved it
	world            string // the owner's; the coordinator holds it
	collection       string // the owner's, in the object store; the neighbour has one of this name
	ownersOnly       string // another, which only the owner has
	key              string // of a record of the collection
	ownerToken       string
	neighbourToken   string
	operatorToken    string
	fresh            atomic.Int64

	moving        map[string]moving // migrations of other tenants, by what was done to them
	qualification string            // "" until it is needed
	admin         map[string]*pgxpool.Pool
}

func newSubject(t testing.TB, changes ...string) *subject {
	t.Helper()
	s := &subject{stack: newStack(t, 3), moving: map[string]moving{}, admin: map[string]*pgxpool.Pool{}}
	s.api = s.serve(t, append(testkit.BodiesEnviron(testkit.BodyStore(t)), changes...)...)
	s.owner = s.tenant(t, s.api, "owner", tenancy.TenantScopes()...)
	s.neighbour = s.tenant(t, s.api, "neighbour", tenancy.TenantScopes()...)
	s.handle = "owners-first"
	s.account = s.newAccount(t, s.handle)
	s.client = s.newClient(t, "tv")
	s.device = s.newDevice(t).ID
	s.world = s.newWorld(t, "north-7")
	s.collection = s.newCollection(t, "orders")
	s.ownersOnly = s.newCollection(t, "owners-only")
	if _, err := connect(t, s.api, s.neighbour.key).PutCollectionWithResponse(t.Context(), s.collection, holdfast.NewCollection{}); err != nil {
		t.Fatal(err)
	}
	s.key = s.newRecord(t, theKey, theReceipt)
	s.ownerToken, s.neighbourToken = s.buyToken(t, s.owner.key), s.buyToken(t, s.neighbour.key)
	s.operatorToken = s.buyToken(t, s.operatorKey)
	return s
}

func (s *subject) newAccount(t testing.TB, handle string) string {
	t.Helper()
	made, err := connect(t, s.api, s.owner.key).CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: handle})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.ID
}

func (s *subject) buyToken(t testing.TB, key string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID(key)}, "client_secret": {key}}
	response, err := http.PostForm(s.api.url+"/v1/oauth/token", form)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var token holdfast.Token
	if err := json.NewDecoder(response.Body).Decode(&token); err != nil || token.AccessToken == "" {
		t.Fatalf("no token: %d %v", response.StatusCode, err)
	}
	return token.AccessToken
}

// newIssuer has the owner trust an issuer.
func (s *subject) newIssuer(t testing.TB, n int64) string {
	t.Helper()
	made, err := s.operator(t, s.api).CreateIssuerWithResponse(t.Context(), s.owner.id, nil, holdfast.NewIssuer{
		Issuer: fmt.Sprintf("https://short-lived-%d.example", n), JwksURI: "https://id.example/certs", Audience: "api", Scopes: []string{"record:read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.ID
}

// clientID is an API key up to its secret.
func clientID(key string) string { return key[:len("hf_")+32] }

// valid gives a request to the operation that succeeds, at least once. A new
// operation of the document has to be added here.
func (s *subject) valid(t testing.TB, op described) *exchange {
	t.Helper()
	x := &exchange{op: op, header: http.Header{}, path: map[string]string{
		"account_id":   s.account,
		"tenant_id":    s.owner.id,
		"principal_id": s.owner.principal,
		"device_id":    s.device,
		"world_id":     s.world,
	}}
	n := s.fresh.Add(1)
	json := func(body string) {
		x.header.Set("Content-Type", "application/json")
		x.body = []byte(strings.ReplaceAll(body, "$n", fmt.Sprint(n)))
	}
	form := func(fields url.Values) {
		x.header.Set("Content-Type", "application/x-www-form-urlencoded")
		x.body = []byte(fields.Encode())
	}
	switch security := *op.operation.Security; {
	case len(security) == 0:
	case strings.HasPrefix(security[0]["oauth"][0], "operator:"):
		x.header.Set("Authorization", "Bearer "+s.operatorToken)
	default:
		x.header.Set("Authorization", "Bearer "+s.ownerToken)
	}
	switch op.operation.OperationID {
	case "livez", "readyz", "getOpenapi", "getDocs", "getJwks", "getAuthorizationServer", "listSweeps", "getRecovery",
		"getAccount", "getDevice", "getTenant", "getIdentityReport", "getStorage", "resumeTenant", "listApiKeys", "getAuditHead":
	case "getDocsFile":
		x.path["file"] = "page.css"
	case "runSweep":
		x.path["kind"] = "identity"
	case "listAccounts":
		x.query = "limit=2&status=active"
	case "listAccountDevices":
		x.query = "limit=2&status=approved"
	case "listTenants", "listPrincipals", "listClients", "listOperators", "listAccountEvents", "listEvents", "listAudit", "listTenantAudit", "listOwnAudit", "listIssuers":
		x.query = "limit=2"
	case "listOperatorApiKeys":
		x.path["operator_id"] = s.newOperator(t, n)
	case "createToken":
		form(url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID(s.owner.key)}, "client_secret": {s.owner.key}, "scope": {"identity:read"}})
	case "authorizeDevice":
		form(url.Values{"client_id": {s.client}, "scope": {"play"}, "label": {"Living room"}})
	case "revokeToken":
		form(url.Values{"client_id": {s.client}, "token": {"unknown"}, "token_type_hint": {"refresh_token"}})
	case "createDevice":
		x.header.Set("Idempotency-Key", fmt.Sprint("device-", n))
		json(`{"label":"Device $n","client_id":"` + s.client + `","scopes":["play"]}`)
	case "patchDevice", "revokeDevice":
		x.path["device_id"] = s.newDevice(t).ID
		x.header.Set("If-Match", `"1"`)
		if op.method == http.MethodPatch {
			json(`{"label":"Renamed $n"}`)
		}
	case "lookupDeviceCode", "approveDevice", "denyDevice":
		json(`{"user_code":"` + *s.newDevice(t).UserCode + `","account_id":"` + s.account + `"}`)
	case "createAccount":
		x.header.Set("Idempotency-Key", fmt.Sprint("account-", n))
		json(`{"handle":"user-$n","email":"user-$n@example.com","email_verified":false,"display_name":"User $n","attributes":{"plan":"pro","deep":[{"er":"x"}]}}`)
	case "importAccounts":
		json(`{"key":"key-$n","account":{"handle":"imported-$n","email":"imported-$n@example.com","display_name":"User $n","attributes":{"a":["b"]}}}`)
		x.header.Set("Content-Type", "application/x-ndjson")
	case "batchGetAccounts":
		json(`{"ids":["` + s.account + `","01930000-0000-7000-8000-000000000000"]}`)
	case "lookupAccount":
		json(`{"handle":"` + s.handle + `"}`)
	case "patchAccount", "deleteAccount":
		x.path["account_id"] = s.newAccount(t, fmt.Sprint("short-lived-", n))
		x.header.Set("If-Match", `"1"`)
		if op.method == http.MethodPatch {
			json(`{"display_name":"User $n","status":"disabled","attributes":{"a":"b","c":null}}`)
		}
	case "beginEmailChange":
		x.header.Set("Idempotency-Key", fmt.Sprint("change-", n))
		json(`{"email":"new-$n@example.com"}`)
	case "confirmEmailChange", "cancelEmailChange":
		x.path["account_id"] = s.newAccount(t, fmt.Sprint("changing-", n))
		change := s.newEmailChange(t, x.path["account_id"], fmt.Sprint("changed-", n, "@example.com"))
		x.path["change_id"] = change.ID
		if op.method == http.MethodPost {
			json(`{"code":"` + change.Code + `"}`)
		}
	case "getEmailChange":
		x.path["account_id"] = s.newAccount(t, fmt.Sprint("pending-", n))
		s.newEmailChange(t, x.path["account_id"], fmt.Sprint("pending-", n, "@example.com"))
	case "removeEmail":
		x.path["account_id"] = s.newAccount(t, fmt.Sprint("removing-", n))
		x.header.Set("If-Match", `"1"`)
	case "createTenant":
		json(`{"name":"tenant-$n","handle_policy":"unicode","identity_state":"importing"}`)
	case "openIdentity":
		c := s.importingCustomer(t, s.api, fmt.Sprint("importing-", n))
		x.path["tenant_id"] = c.id
		json(`{"report_hash":"` + s.report(t, s.api, c).ReportHash + `"}`)
	case "setStorage":
		json(`{"record_format":2}`)
	case "createClient":
		json(`{"name":"client-$n","scopes":["play","pause"],"verification_uri":"https://example.com/device?lang=en"}`)
	case "createIssuer":
		json(`{"issuer":"https://id-$n.example/realms/a","jwks_uri":"https://id-$n.example/realms/a/certs","audience":"api","scopes":["record:read"],"max_lifetime_seconds":600}`)
	case "disableIssuer":
		x.path["issuer_id"] = s.newIssuer(t, n)
	case "disableClient":
		x.path["client_id"] = s.newClient(t, fmt.Sprint("short-lived-", n))
	case "suspendTenant":
		x.path["tenant_id"] = s.tenant(t, s.api, fmt.Sprint("suspended-", n)).id
	case "createPrincipal":
		json(`{"name":"principal-$n","scopes":["identity:read"]}`)
	case "disablePrincipal", "revokeApiKey":
		c := s.tenant(t, s.api, fmt.Sprint("closing-", n))
		x.path["tenant_id"], x.path["principal_id"], x.path["key_id"] = c.id, c.principal, s.onlyKey(t, c)
	case "createApiKey":
		json(`{"label":"key $n","expires_at":"2100-01-01T00:00:00Z"}`)
	case "createOperator":
		json(`{"name":"operator-$n","scopes":["operator:read"]}`)
	case "disableOperator":
		x.path["operator_id"] = s.newOperator(t, n)
	case "createOperatorApiKey":
		x.path["operator_id"] = s.newOperator(t, n)
		json(`{"label":"key $n"}`)
	case "revokeOperatorApiKey":
		x.path["key_id"] = s.newOperatorKey(t, s.newOperator(t, n))
	default:
		if s.validOnWorlds(t, x, n, json) || s.validOnRecords(t, x, n, json) || s.validOnMigrations(t, x, n, json) || s.validOnTenants(t, x, n, json) || s.validOnLimits(t, x, n, json) {
			break
		}
		t.Fatalf("no valid request is known for %v (%s)", op, op.operation.OperationID)
	}
	return x
}

func (s *subject) newEmailChange(t testing.TB, account, email string) holdfast.EmailChange {
	t.Helper()
	begun, err := connect(t, s.api, s.owner.key).BeginEmailChangeWithResponse(t.Context(), account, nil, holdfast.NewEmailChange{Email: email})
	if err != nil {
		t.Fatal(err)
	}
	return *begun.JSON201
}

func (s *subject) newClient(t testing.TB, name string) string {
	t.Helper()
	made, err := s.operator(t, s.api).CreateClientWithResponse(t.Context(), s.owner.id, nil,
		holdfast.NewPublicClient{Name: name, Scopes: ptr([]string{"pause", "play"}), VerificationURI: "https://example.com/device"})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.ID
}

func (s *subject) newDevice(t testing.TB) holdfast.CreatedDevice {
	t.Helper()
	made, err := connect(t, s.api, s.owner.key).CreateDeviceWithResponse(t.Context(), nil, holdfast.NewDevice{ClientID: &s.client})
	if err != nil {
		t.Fatal(err)
	}
	return *made.JSON201
}

func (s *subject) newOperator(t testing.TB, n int64) string {
	t.Helper()
	made, err := s.operator(t, s.api).CreateOperatorWithResponse(t.Context(), nil,
		holdfast.NewPrincipal{Name: fmt.Sprint("short-lived-", n), Scopes: []string{"operator:read"}})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.ID
}

func (s *subject) newOperatorKey(t testing.TB, operator string) string {
	t.Helper()
	made, err := s.operator(t, s.api).CreateOperatorAPIKeyWithResponse(t.Context(), operator, nil, holdfast.NewAPIKey{})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.ID
}

func (s *subject) onlyKey(t testing.TB, c customer) string {
	t.Helper()
	keys, err := s.operator(t, s.api).ListAPIKeysWithResponse(t.Context(), c.id, c.principal, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys.JSON200.APIKeys[0].ID
}
