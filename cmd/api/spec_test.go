package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/web"
)

// described is one operation of the document.
type described struct {
	method, template string
	item             *openapi3.PathItem
	operation        *openapi3.Operation
}

func (d described) String() string { return d.method + " " + d.template }

// parameters are the operation's and its path's.
func (d described) parameters() openapi3.Parameters {
	return append(slices.Clone(d.item.Parameters), d.operation.Parameters...)
}

// spec is the document, operation by operation, in the order of their names.
type spec struct {
	doc        *openapi3.T
	operations []described
}

func loadSpec(t testing.TB) spec {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	s := spec{doc: doc}
	for template, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			s.operations = append(s.operations, described{method, template, item, operation})
		}
	}
	slices.SortFunc(s.operations, func(a, b described) int { return strings.Compare(a.String(), b.String()) })
	return s
}

// subject is a stack with one of each thing that a path can name, so that every
// operation has a request that succeeds.
type subject struct {
	*stack
	api              *running
	owner, neighbour customer
	account          string // the owner's
	handle           string // the account's
	ownerToken       string
	neighbourToken   string
	operatorToken    string
	fresh            atomic.Int64
}

func newSubject(t testing.TB) *subject {
	t.Helper()
	s := &subject{stack: newStack(t, 3)}
	s.api = s.serve(t)
	s.owner, s.neighbour = s.tenant(t, s.api, "owner"), s.tenant(t, s.api, "neighbour")
	s.handle = "owners-first"
	s.account = s.newAccount(t, s.handle)
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

// clientID is an API key up to its secret.
func clientID(key string) string { return key[:len("hf_")+32] }

// exchange is a request and its answer.
type exchange struct {
	op      described
	path    map[string]string // its parameters, unescaped unless rawPath
	query   string
	header  http.Header
	body    []byte
	rawPath bool // path parameters are escaped already

	status   int
	answer   []byte
	answered http.Header
}

func (x *exchange) clone() *exchange {
	c := *x
	c.header = x.header.Clone()
	c.body = slices.Clone(x.body)
	c.path = make(map[string]string, len(x.path))
	for name, value := range x.path {
		c.path[name] = value
	}
	return &c
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

func (x *exchange) target() string {
	path := pathParameter.ReplaceAllStringFunc(x.op.template, func(braced string) string {
		value := x.path[strings.Trim(braced, "{}")]
		if x.rawPath {
			return value
		}
		return url.PathEscape(value)
	})
	if x.query != "" {
		path += "?" + x.query
	}
	return path
}

// send sends the request, reads the answer, and holds it against the document.
func (s *subject) send(t testing.TB, x *exchange) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), x.op.method, s.api.url+x.target(), bytes.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = x.header.Clone()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatalf("%v: %v", x.op, err)
	}
	defer response.Body.Close()
	if x.answer, err = io.ReadAll(response.Body); err != nil {
		t.Fatalf("%v: %v", x.op, err)
	}
	x.status, x.answered = response.StatusCode, response.Header
	if err := x.validate(request); err != nil {
		t.Errorf("%v is answered otherwise than described: %v\nrequest  %s %s\nanswer   %d %v %s", x.op, err, x.target(), x.body, x.status, x.answered, x.answer)
	}
}

var uuidFormat = openapi3.NewCallbackValidator(func(s string) error {
	_, err := domain.ParseID[struct{}](s)
	return err
})

// validate holds the answer against the document, which describes no 5xx but
// an unready process.
func (x *exchange) validate(request *http.Request) error {
	if x.status >= http.StatusInternalServerError {
		return fmt.Errorf("status %d", x.status)
	}
	if x.answered.Get("X-Request-Id") == "" {
		return fmt.Errorf("no X-Request-Id")
	}
	return openapi3filter.ValidateResponse(request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: request,
			Route:   &routers.Route{Path: x.op.template, PathItem: x.op.item, Method: x.op.method, Operation: x.op.operation, Spec: &openapi3.T{OpenAPI: "3.0.3"}},
		},
		Status: x.status,
		Header: x.answered,
		Body:   io.NopCloser(bytes.NewReader(x.answer)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus:   true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidator("uuid", uuidFormat)},
		},
	})
}

// valid gives a request to the operation that succeeds, at least once. A new
// operation of the document has to be added here.
func (s *subject) valid(t testing.TB, op described) *exchange {
	t.Helper()
	x := &exchange{op: op, header: http.Header{}, path: map[string]string{
		"account_id":   s.account,
		"tenant_id":    s.owner.id,
		"principal_id": s.owner.principal,
	}}
	n := s.fresh.Add(1)
	json := func(body string) {
		x.header.Set("Content-Type", "application/json")
		x.body = []byte(strings.ReplaceAll(body, "$n", fmt.Sprint(n)))
	}
	switch security := *op.operation.Security; {
	case len(security) == 0:
	case strings.HasPrefix(security[0]["oauth"][0], "operator:"):
		x.header.Set("Authorization", "Bearer "+s.operatorToken)
	default:
		x.header.Set("Authorization", "Bearer "+s.ownerToken)
	}
	switch op.operation.OperationID {
	case "livez", "readyz", "getOpenapi", "getJwks", "listSweeps", "getRecovery",
		"getAccount", "getTenant", "resumeTenant", "listApiKeys":
	case "listAccounts":
		x.query = "limit=2&status=active"
	case "listTenants", "listPrincipals", "listOperators":
		x.query = "limit=2"
	case "listOperatorApiKeys":
		x.path["operator_id"] = s.newOperator(t, n)
	case "createToken":
		x.header.Set("Content-Type", "application/x-www-form-urlencoded")
		x.body = []byte(url.Values{
			"grant_type": {"client_credentials"}, "client_id": {clientID(s.owner.key)}, "client_secret": {s.owner.key}, "scope": {"identity:read"},
		}.Encode())
	case "createAccount":
		x.header.Set("Idempotency-Key", fmt.Sprint("account-", n))
		json(`{"handle":"user-$n","email":"user-$n@example.com","email_verified":false,"display_name":"User $n","attributes":{"plan":"pro","deep":[{"er":"x"}]}}`)
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
	case "createTenant":
		json(`{"name":"tenant-$n","handle_policy":"unicode"}`)
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
		t.Fatalf("no valid request is known for %v (%s)", op, op.operation.OperationID)
	}
	return x
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
