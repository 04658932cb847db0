package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// I20: to whoever asks, another tenant's things and things that aren't there are
// the same: the same status, the same headers, the same bytes but for the
// request's id. It covers every operation of the document.
func TestIsolation_AnothersIDAndARandomIDAreTheSame(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, op := range loadSpec(t).operations {
		for _, name := range pathNames(op) {
			s.sameForStrangers(t, op, name)
		}
	}
}

func pathNames(op described) (names []string) {
	for _, braced := range pathParameter.FindAllString(op.template, -1) {
		names = append(names, strings.Trim(braced, "{}"))
	}
	return names
}

// sameForStrangers asks twice for what isn't the caller's: as the neighbour
// where a tenant calls; where an operator calls, under the neighbour's path, or
// as an operator for a tenant's principals and keys.
func (s *subject) sameForStrangers(t *testing.T, op described, name string) {
	t.Helper()
	x := s.valid(t, op)
	operators := strings.Contains(x.header.Get("Authorization"), s.operatorToken)
	switch {
	case !operators:
		x.header.Set("Authorization", "Bearer "+s.neighbourToken)
	case name == "tenant_id":
		return // all tenants are the operators' to see
	default:
		x.path["tenant_id"] = s.neighbour.id
	}
	if op.operation.OperationID == "putCollection" || op.operation.OperationID == "putRecord" && name == "key" {
		return // who puts a thing names it as he likes
	}
	foreign := map[string]string{
		"account_id":    s.account,
		"change_id":     x.path["change_id"],
		"device_id":     s.device,
		"client_id":     x.path["client_id"], // under another tenant's path
		"issuer_id":     x.path["issuer_id"], // likewise
		"principal_id":  s.owner.principal,
		"operator_id":   s.owner.principal, // a tenant's principal is no operator
		"key_id":        s.onlyKey(t, s.owner),
		"world_id":      x.path["world_id"],
		"collection":    s.ownersOnly, // the others' names are those of a collection of either
		"key":           s.key,
		"section":       "items",
		"operation_id":  theReceipt,
		"batch_id":      x.path["batch_id"],
		"snapshot_id":   x.path["snapshot_id"],
		"migration_id":  x.path["migration_id"],
		"plan_hash":     x.path["plan_hash"],
		"envelope_hash": x.path["envelope_hash"],
		"report_id":     x.path["report_id"],
		"deferred_id":   x.path["deferred_id"],
		"report_hash":   strings.Repeat("0", 64), // nobody's: what was qualified is no tenant's
		"file":          "nobodys.css",           // what a page loads is no tenant's
		"kind":          "claims",                // nobody's: what a sweep looks into is no kind of sweep
	}[name]
	if foreign == "" {
		t.Fatalf("%v: nothing of another's is known for %s", op, name)
	}
	random := domain.NewID[struct{}](time.Now()).String()
	if name == "client_id" {
		random = "hfc_" + strings.ReplaceAll(random, "-", "")
	}

	nobodys := x.clone()
	nobodys.path[name] = random
	s.send(t, nobodys)
	if nobodys.status != http.StatusNotFound {
		t.Errorf("%v with a random %s: %d %s", op, name, nobodys.status, nobodys.answer)
	}
	for what, id := range map[string]string{"another's": foreign, "what isn't an id as": "x"} {
		theirs := x.clone()
		theirs.path[name] = id
		s.send(t, theirs)
		if diff := cmp.Diff(seen(t, nobodys, random), seen(t, theirs, id)); diff != "" {
			t.Errorf("%v tells %s %s (-random +this):\n%s", op, what, name, diff)
		}
	}
}

// seen is all that a caller sees, with its own words and the request's id taken
// out.
func seen(t *testing.T, x *exchange, asked string) map[string]string {
	t.Helper()
	view := map[string]string{"status": fmt.Sprint(x.status)}
	id := x.answered.Get("X-Request-Id")
	for name, values := range x.answered {
		if name != "Date" && name != "X-Request-Id" && name != "Ratelimit" { // which tells the caller's own pace
			view[name] = strings.Join(values, ", ")
		}
	}
	view["body"] = strings.NewReplacer(id, "<request>", asked, "<asked>").Replace(string(x.answer))
	return view
}

func TestIsolation_IDsAndKeysInBodiesTellNothing(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	neighbour := connect(t, s.api, s.neighbour.key)
	random := domain.NewID[struct{}](time.Now()).String()

	batch, err := neighbour.BatchGetAccountsWithResponse(t.Context(), holdfast.BatchGet{Ids: []string{s.account, random}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdfast.BatchResult{{ID: s.account}, {ID: random}}, batch.JSON200.Results); diff != "" {
		t.Errorf("batch-get (-want +got):\n%s", diff)
	}
	theirs := s.asNeighbour(t, "lookupAccount", `{"handle":"`+s.handle+`"}`)
	nobodys := s.asNeighbour(t, "lookupAccount", `{"handle":"nobodys-handle"}`)
	if diff := cmp.Diff(seen(t, nobodys, ""), seen(t, theirs, "")); diff != "" || theirs.status != http.StatusNotFound {
		t.Errorf("lookup: %d (-nobody's +another's):\n%s", theirs.status, diff)
	}
	device := s.newDevice(t)
	for name, c := range map[string]struct{ operation, theirs, nobodys string }{
		"an account that approves": {
			"approveDevice",
			`{"user_code":"` + *device.UserCode + `","account_id":"` + s.account + `"}`,
			`{"user_code":"` + *device.UserCode + `","account_id":"` + random + `"}`,
		},
		"a user code": {
			"lookupDeviceCode",
			`{"user_code":"` + *device.UserCode + `","account_id":"` + s.neighboursAccount(t) + `"}`,
			`{"user_code":"BBBB-BBBB","account_id":"` + s.neighboursAccount(t) + `"}`,
		},
		"a device's client": {
			"createDevice",
			`{"client_id":"` + s.client + `"}`,
			`{"client_id":"hfc_` + strings.ReplaceAll(random, "-", "") + `"}`,
		},
		"a migration's collection": {
			"requestMigration",
			`{"kind":"record_bodies","collections":["` + s.ownersOnly + `"]}`,
			`{"kind":"record_bodies","collections":["nobodys-own"]}`,
		},
		"an imported device's account": {
			"importAccounts",
			`{"key":"k","device":{"status":"approved","account_id":"` + s.account + `"}}`,
			`{"key":"k","device":{"status":"approved","account_id":"` + random + `"}}`,
		},
	} {
		theirs, nobodys := s.asNeighbour(t, c.operation, c.theirs), s.asNeighbour(t, c.operation, c.nobodys)
		if diff := cmp.Diff(seen(t, nobodys, random), seen(t, theirs, s.account)); diff != "" {
			t.Errorf("%s (-nobody's +another's):\n%s", name, diff)
		}
		if theirs.status < http.StatusBadRequest && !allFailed(t, theirs) {
			t.Errorf("%s: %d %s", name, theirs.status, theirs.answer)
		}
	}
	// A lease that is good tells a stranger nothing of its world.
	held := string(s.request(t, "renewLeases").body)
	world := strings.Split(held, `"`)[5]
	absent := strings.Repeat("x", len(world)) // as long, so that the answer is
	theirs = s.asNeighbour(t, "renewLeases", held)
	nobodys = s.asNeighbour(t, "renewLeases", strings.Replace(held, world, absent, 1))
	if diff := cmp.Diff(seen(t, nobodys, absent), seen(t, theirs, world)); diff != "" || !strings.Contains(string(theirs.answer), "world_not_found") {
		t.Errorf("renewLeases: %s (-nobody's +another's):\n%s", theirs.answer, diff)
	}
	// The same names are free in another tenant.
	if _, err := neighbour.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: s.world}); err != nil {
		t.Errorf("an id of another tenant's world is taken: %v", err)
	}
	if _, err := neighbour.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: s.handle}); err != nil {
		t.Errorf("a handle of another tenant's is taken: %v", err)
	}
}

// asNeighbour sends a body to an operation in the neighbour's name.
func (s *subject) asNeighbour(t *testing.T, operation, body string) *exchange {
	t.Helper()
	x := s.request(t, operation)
	x.header.Set("Authorization", "Bearer "+s.neighbourToken)
	x.header.Del("Idempotency-Key")
	x.body = []byte(body)
	s.send(t, x)
	return x
}

func (s *subject) neighboursAccount(t *testing.T) string {
	t.Helper()
	made, err := connect(t, s.api, s.neighbour.key).CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: fmt.Sprint("neighbour-", s.fresh.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.ID
}

func TestIsolation_CursorsAndIdempotencyKeysAreATenantsOwn(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	owner, neighbour := connect(t, s.api, s.owner.key), connect(t, s.api, s.neighbour.key)
	s.newAccount(t, "owners-second")
	page, err := owner.ListAccountsWithResponse(t.Context(), &holdfast.ListAccountsParams{Limit: ptr(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := neighbour.ListAccountsWithResponse(t.Context(), &holdfast.ListAccountsParams{Cursor: page.JSON200.NextCursor}); !holdfast.IsCode(err, "cursor_invalid") {
		t.Errorf("another tenant's cursor: %v", err)
	}
	params := &holdfast.CreateAccountParams{IdempotencyKey: ptr("the-same-key")}
	mine, err := owner.CreateAccountWithResponse(t.Context(), params, holdfast.NewAccount{Handle: "twin"})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := neighbour.CreateAccountWithResponse(t.Context(), params, holdfast.NewAccount{Handle: "twin"})
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Headers201.IdempotentReplayed != nil || mine.JSON201.ID == theirs.JSON201.ID {
		t.Errorf("one tenant's key found another's account: %s", theirs.Body)
	}
}

// Every operation that names a scope is refused to everybody who lacks it.
func TestScopes_AreDemandedByEveryOperation(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, op := range loadSpec(t).operations {
		if len(*op.operation.Security) == 0 {
			continue
		}
		x := s.valid(t, op)
		x.header.Del("Authorization")
		s.send(t, x)
		if x.status != http.StatusUnauthorized || x.answered.Get("WWW-Authenticate") == "" {
			t.Errorf("%v without a token: %d %s", op, x.status, x.answer)
		}
		other := s.operatorToken
		if strings.HasPrefix((*op.operation.Security)[0]["oauth"][0], "operator:") {
			other = s.ownerToken
		}
		x.header.Set("Authorization", "Bearer "+other)
		s.send(t, x)
		if x.status != http.StatusForbidden {
			t.Errorf("%v with a token of the other kind: %d %s", op, x.status, x.answer)
		}
	}
}
