package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestCreateAccount_HandsTheDomainExactlyWhatWasSent(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{
		method: "POST", target: "/v1/accounts", headers: []string{"Idempotency-Key: k-1"},
		body: `{"handle":"Ada","email":"a@b.de","email_verified":true,"display_name":"Ada <3","attributes":{"b": 1.50,"a":"<"}}`,
	})
	if w.Code != http.StatusCreated || w.Header().Get("ETag") != `"7"` || w.Header().Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	email, name := "a@b.de", "Ada <3"
	want := identity.CreateAccount{
		Handle: "Ada", Email: &email, EmailVerified: true, DisplayName: &name,
		Attributes: json.RawMessage(`{"b": 1.50,"a":"<"}`), IdempotencyKey: "k-1",
	}
	if diff := cmp.Diff(any(want), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestCreateAccount_ShowsTheCodeOfAnUnverifiedEmail(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "POST", target: "/v1/accounts", body: `{"handle":"Ada","email":"a@b.de"}`, headers: []string{"Idempotency-Key: replayed"}})
	var got CreatedAccount
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := &EmailChange{ID: "00000000-0000-0000-0000-000000000002", Email: "a@b.de", Code: "12345678", ExpiresAt: verifiedAt.UTC()}
	if diff := cmp.Diff(want, got.EmailChange); diff != "" {
		t.Errorf("email_change (-want +got):\n%s", diff)
	}
	if got.Email != nil || got.EmailVerifiedAt != nil {
		t.Errorf("the account has an email already: %s", w.Body)
	}
	if w.Header().Get("Idempotent-Replayed") != "true" {
		t.Error("Idempotent-Replayed is missing")
	}
}

func TestPatchAccount_TellsAbsentFromNullFromValue(t *testing.T) {
	t.Parallel()
	var none *string
	name, disabled := "Ada", identity.Disabled
	named := &name
	for body, want := range map[string]identity.AccountPatch{
		`{}`:                        {},
		`{"display_name":null}`:     {DisplayName: &none},
		`{"display_name":"Ada"}`:    {DisplayName: &named},
		`{"status":"disabled"}`:     {Status: &disabled},
		`{"attributes":{"a":null}}`: {Attributes: json.RawMessage(`{"a":null}`)},
	} {
		for _, media := range []string{"application/json", "application/merge-patch+json", "Application/Merge-Patch+JSON; charset=UTF-8"} {
			a := newTestAPI(t, testOptions{})
			w := a.do(t, request{method: "PATCH", target: accountPath, body: body, headers: []string{`If-Match: "41"`, "Content-Type: " + media}})
			if w.Code != http.StatusOK || w.Header().Get("ETag") != `"7"` {
				t.Fatalf("%s as %s: %d %s", body, media, w.Code, w.Body)
			}
			if diff := cmp.Diff(any(patched{knownAccount, 41, want}), a.directory.got); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s", body, media, diff)
			}
		}
	}
}

func TestDeleteAccount_NamesTheRevision(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "DELETE", target: accountPath, headers: []string{`If-Match: "9223372036854775807"`}})
	if w.Code != http.StatusNoContent || w.Body.Len() != 0 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if diff := cmp.Diff(any(patched{ID: knownAccount, Revision: 1<<63 - 1}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestListAccounts_CoercesTheLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]int{"": 50, "1": 1, "200": 200, "201": 200, "0": 1, "-5": 1, "9223372036854775807": 200} {
		a := newTestAPI(t, testOptions{})
		target := "/v1/accounts"
		if limit != "" {
			target += "?limit=" + limit
		}
		if w := a.do(t, request{method: "GET", target: target}); w.Code != http.StatusOK {
			t.Fatalf("limit %q: %d %s", limit, w.Code, w.Body)
		}
		if diff := cmp.Diff(any(listed{Limit: want}), a.directory.got); diff != "" {
			t.Errorf("limit %q (-want +got):\n%s", limit, diff)
		}
	}
}

func TestListAccounts_GoesOnWhereTheCursorSaysForTheSameCallerAndFilterOnly(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.next = &identity.Position{Number: 63, ID: knownAccount}
	var page AccountPage
	if err := json.Unmarshal(a.do(t, request{method: "GET", target: "/v1/accounts?status=active"}).Body.Bytes(), &page); err != nil || page.NextCursor == nil {
		t.Fatalf("no next_cursor: %v", err)
	}
	next := "cursor=" + url.QueryEscape(*page.NextCursor)

	active := identity.Active
	a.do(t, request{method: "GET", target: "/v1/accounts?limit=7&status=active&" + next})
	if diff := cmp.Diff(any(listed{identity.AccountFilter{Status: &active}, a.directory.next, 7}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for name, q := range map[string]request{
		"without the filter":  {method: "GET", target: "/v1/accounts?" + next},
		"with another filter": {method: "GET", target: "/v1/accounts?status=disabled&" + next},
		"as another tenant":   {method: "GET", target: "/v1/accounts?status=active&" + next, token: "other"},
		"for another list":    {method: "GET", target: "/v1/tenants?" + next, token: "operator"},
	} {
		w := a.do(t, q)
		if p := problemIn(t, w); w.Code != http.StatusUnprocessableEntity || p.Code != "cursor_invalid" {
			t.Errorf("%s: %d %s", name, w.Code, p.Code)
		}
	}
}

func TestBatchGet_AnswersEachIDInOrder(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	missing := domain.AccountID{15: 9}
	w := a.do(t, request{method: "POST", target: "/v1/accounts/batch-get", body: `{"ids":["` + missing.String() + `","` + knownAccount.String() + `"]}`})
	var got BatchResults
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	account := encodeAccount(theAccount())
	account.Attributes = json.RawMessage(`{"n":12345678901234567890.5}`)
	want := BatchResults{Results: []BatchResult{{ID: missing.String()}, {ID: knownAccount.String(), Account: &account}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestLookup_AsksForTheKeyThatWasGiven(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]any{
		`{"handle":"Ada"}`:   "handle Ada",
		`{"email":"a@b.de"}`: "email a@b.de",
	} {
		a := newTestAPI(t, testOptions{})
		if w := a.do(t, request{method: "POST", target: "/v1/accounts/lookup", body: body}); w.Code != http.StatusOK || w.Header().Get("ETag") != `"7"` {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if a.directory.got != want {
			t.Errorf("%s asks for %v, want %v", body, a.directory.got, want)
		}
	}
}

func TestCreateTenant_HasItsDefaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]tenancy.NewTenant{
		`{"name":"acme"}`: {Name: "acme", HandlePolicy: "ascii", IdentityState: "open"},
		`{"name":"acme","handle_policy":"unicode","identity_state":"importing"}`: {Name: "acme", HandlePolicy: "unicode", IdentityState: "importing"},
	} {
		a := newTestAPI(t, testOptions{})
		if w := a.do(t, request{method: "POST", target: "/v1/tenants", body: body, token: "operator"}); w.Code != http.StatusCreated {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if diff := cmp.Diff(any(want), a.store.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func TestRunSweep_TellsForEachDatabaseWhetherOneWasThereAlready(t *testing.T) {
	t.Parallel()
	for kind, job := range map[string]string{
		"identity": "sweep", "cleanup": "cleanup", "record-cleanup": "record cleanup", "snapshots": "snapshots", "objects": "objects",
	} {
		runsSweep(t, request{method: "POST", target: "/v1/sweeps/" + kind + "/run", token: "operator"}, job)
	}
}

func runsSweep(t *testing.T, run request, job string) {
	t.Helper()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, run)
	want := `{"databases":[{"already_asked":true,"database":"data1"},{"already_asked":false,"database":"data2"},{"already_asked":true,"database":"data3"}]}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusAccepted || got != want {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
	if diff := cmp.Diff([]string{"data1", "data2", "data3"}, a.jobs.got); diff != "" || a.jobs.kind != job {
		t.Errorf("asked for a %s (-want +got):\n%s", a.jobs.kind, diff)
	}
	a.jobs.err = domain.Unavailable("jobs_unavailable", "Ask again.")
	if w = a.do(t, run); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("without the control database: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// token asks the token endpoint with a form.
func (a *testAPI) token(t *testing.T, form string, headers ...string) (status int, body string, header http.Header) {
	t.Helper()
	w := a.do(t, request{
		method: "POST", target: "/v1/oauth/token", anonymous: true, body: form,
		headers: append([]string{"Content-Type: application/x-www-form-urlencoded"}, headers...),
	})
	return w.Code, strings.TrimSpace(w.Body.String()), w.Header()
}

func TestToken_TakesBothWaysOfAuthentication(t *testing.T) {
	t.Parallel()
	// "a b%:right", form-encoded and then Basic.
	const basic = "Authorization: Basic YStiJTI1OnJpZ2h0"
	for name, c := range map[string]struct {
		form    string
		headers []string
		want    tenancy.GrantRequest
	}{
		"in the form": {
			"grant_type=client_credentials&client_id=hf_1&client_secret=right&scope=identity%3Aread&audience=ignored", nil,
			tenancy.GrantRequest{GrantType: "client_credentials", ClientID: "hf_1", ClientSecret: "right", Scope: "identity:read"},
		},
		"by Basic": {
			"grant_type=client_credentials&scope=", []string{basic},
			tenancy.GrantRequest{GrantType: "client_credentials", ClientID: "a b%", ClientSecret: "right"},
		},
	} {
		a := newTestAPI(t, testOptions{})
		status, body, header := a.token(t, c.form, c.headers...)
		want := `{"access_token":"t","expires_in":900,"scope":"identity:read","token_type":"Bearer"}`
		if status != http.StatusOK || body != want || header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %v", name, status, body, header)
		}
		asked := a.tokens.granted
		if asked.Admit == nil {
			t.Errorf("%s: nobody holds the key's tenant to its limits", name)
		}
		asked.Admit = nil // no two functions are equal
		if diff := cmp.Diff(c.want, asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestToken_RefusesInTheWordsOfRFC6749(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	const good = "grant_type=client_credentials&client_id=hf_1&client_secret=right"
	for name, c := range map[string]struct {
		form    string
		headers []string
		status  int
		code    string
		basic   bool
	}{
		"no grant type":         {"client_id=hf_1", nil, 400, "invalid_request", false},
		"an empty grant type":   {"grant_type=", nil, 400, "invalid_request", false},
		"no body":               {"", nil, 400, "invalid_request", false},
		"a field twice":         {good + "&scope=a&scope=b", nil, 400, "invalid_request", false},
		"a broken form":         {good + "&x=%zz", nil, 400, "invalid_request", false},
		"NUL":                   {good + "&scope=%00", nil, 400, "invalid_request", false},
		"invalid UTF-8":         {good + "&scope=%ff", nil, 400, "invalid_request", false},
		"a wrong secret":        {"grant_type=client_credentials&client_id=hf_1&client_secret=wrong", nil, 401, "invalid_client", true},
		"a secret alone":        {"grant_type=client_credentials&client_secret=right", nil, 400, "invalid_request", false},
		"nothing to go by":      {"grant_type=client_credentials", nil, 401, "invalid_client", true},
		"a suspended tenant":    {"grant_type=client_credentials&client_id=hf_1&client_secret=suspended", nil, 403, "tenant_suspended", false},
		"two ways at once":      {good, []string{"Authorization: Basic aGZfMTpyaWdodA=="}, 401, "invalid_client", true},
		"a bearer token":        {"grant_type=client_credentials", []string{"Authorization: Bearer x"}, 401, "invalid_client", true},
		"another client's form": {"grant_type=client_credentials&client_id=hf_2", []string{"Authorization: Basic aGZfMTpyaWdodA=="}, 401, "invalid_client", true},
	} {
		status, body, header := a.token(t, c.form, c.headers...)
		var got OAuthError
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s: %s", name, body)
		}
		if status != c.status || got.Error != c.code || got.ErrorDescription == "" || strings.Contains(got.ErrorDescription, "errors") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if (header.Get("WWW-Authenticate") == `Basic realm="holdfast"`) != c.basic || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers are %v", name, header)
		}
		if header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the answer may be kept", name)
		}
	}
}

func TestToken_WhatTheRFCHasNoWordForIsAProblem(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for name, c := range map[string]struct {
		form, media string
		status      int
		code        string
	}{
		"unavailable":   {"grant_type=client_credentials&client_id=hf_1&client_secret=down", mediaForm, 503, "auth_unavailable"},
		"JSON":          {`{"grant_type":"client_credentials"}`, mediaJSON, 415, "media_type_unsupported"},
		"far too large": {"x=" + strings.Repeat("a", 1<<20), mediaForm, 413, "body_too_large"},
	} {
		w := a.do(t, request{method: "POST", target: "/v1/oauth/token", anonymous: true, body: c.form, headers: []string{"Content-Type: " + c.media}})
		if p := problemIn(t, w); w.Code != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s", name, w.Code, p.Code)
		}
	}
}
