package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const theClientID = "client_id=hfc_ab000000000000000000000000000003"

// form sends a form to one of the OAuth endpoints, as nobody.
func (a *testAPI) form(t *testing.T, endpoint, form string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return a.do(t, request{
		method: "POST", target: "/v1/oauth/" + endpoint, anonymous: true, body: form,
		headers: append([]string{"Content-Type: application/x-www-form-urlencoded"}, headers...),
	})
}

func TestAuthorizeDevice_AnswersAsRFC8628Says(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.form(t, "device_authorization", theClientID+"&scope=play+pause&label=Living+room&audience=ignored")
	want := `{"device_code":"device-code","expires_in":900,"interval":5,"user_code":"WDJB-MJHT",` +
		`"verification_uri":"https://example.com/device","verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT"}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s\nwant %s", w.Code, w.Header(), got, want)
	}
	label := "Living room"
	if diff := cmp.Diff(any(identity.AuthorizeDevice{Scopes: []string{"play", "pause"}, Label: &label}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	a.form(t, "device_authorization", theClientID+"&scope=")
	if diff := cmp.Diff(any(identity.AuthorizeDevice{}), a.directory.got); diff != "" {
		t.Errorf("an empty scope is an absent one (-want +got):\n%s", diff)
	}
}

func TestVerificationURIComplete_HasTheCodeInItsQuery(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"https://example.com":              "https://example.com?user_code=WDJB-MJHT",
		"https://example.com/d/":           "https://example.com/d/?user_code=WDJB-MJHT",
		"https://example.com/d?":           "https://example.com/d?user_code=WDJB-MJHT",
		"https://example.com/d?lang=a%20b": "https://example.com/d?lang=a%20b&user_code=WDJB-MJHT",
		"http://[::1]:8080/d":              "http://[::1]:8080/d?user_code=WDJB-MJHT",
	} {
		if got := withUserCode(uri, "WDJB-MJHT"); got != want {
			t.Errorf("%s becomes %s, want %s", uri, got, want)
		}
	}
}

func TestToken_ADevicesGrantsAreTheDomainsAndSignedByTenancy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		form string
		want []any
	}{
		"a poll": {
			"grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=dc&scope=ignored",
			[]any{knownClient, "dc"},
		},
		"a refresh": {
			"grant_type=refresh_token&refresh_token=rt",
			[]any{knownClient, "rt", []string(nil)},
		},
		"a refresh for less": {
			"grant_type=refresh_token&refresh_token=rt&scope=play+pause",
			[]any{knownClient, "rt", []string{"play", "pause"}},
		},
	} {
		a := newTestAPI(t, testOptions{})
		w := a.form(t, "token", c.form+"&"+theClientID)
		want := `{"access_token":"a.b.c","expires_in":900,"refresh_token":"refresh-2","scope":"play","token_type":"Bearer"}`
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), got)
		}
		if diff := cmp.Diff(any(c.want), a.directory.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		signed := tenancy.DeviceGrant{Client: theClient(), Account: knownAccount, Device: knownDevice, Scopes: []string{"play"}}
		if diff := cmp.Diff(signed, a.tokens.signed); diff != "" {
			t.Errorf("%s: signed (-want +got):\n%s", name, diff)
		}
	}
}

func TestRevoke_AnswersNothingAndRefusesAccessTokens(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.form(t, "revoke", theClientID+"&token=rt&token_type_hint=access_token")
	if w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if diff := cmp.Diff(any([]any{knownClient, "rt"}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// Whatever a public client may do wrong is refused before the domain hears of
// it, in the words of RFC 6749, section 5.2, and those that come after it.
func TestOAuth_PublicClientsAreRefusedBeforeAnythingHappensInTheirName(t *testing.T) {
	t.Parallel()
	const poll = "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=dc"
	const refresh = "grant_type=refresh_token&refresh_token=rt"
	const basic = "Authorization: Basic aGZjX2FiMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAzOg==" // its id, no secret
	for name, c := range map[string]struct {
		endpoint, form string
		headers        []string
		status         int
		code           string
	}{
		"a poll by Basic":              {"token", poll + "&" + theClientID, []string{basic}, 401, "invalid_client"},
		"a refresh by Basic":           {"token", refresh, []string{basic}, 401, "invalid_client"},
		"a poll with a secret":         {"token", poll + "&" + theClientID + "&client_secret=x", nil, 401, "invalid_client"},
		"a poll with a bearer token":   {"token", poll + "&" + theClientID, []string{"Authorization: Bearer tenant"}, 401, "invalid_client"},
		"a poll of nobody's":           {"token", poll, nil, 400, "invalid_request"},
		"a poll without a client":      {"token", poll + "&client_id=", nil, 400, "invalid_request"},
		"a refresh of nobody's":        {"token", refresh, nil, 400, "invalid_request"},
		"a poll by Basic alone":        {"token", poll, []string{basic}, 401, "invalid_client"},
		"a poll of an unknown client":  {"token", poll + "&client_id=hfc_1", nil, 401, "invalid_client"},
		"a poll of an API key":         {"token", poll + "&client_id=hf_1", nil, 401, "invalid_client"},
		"a poll for nothing":           {"token", "grant_type=urn:ietf:params:oauth:grant-type:device_code&" + theClientID, nil, 400, "invalid_request"},
		"a refresh of nothing":         {"token", "grant_type=refresh_token&refresh_token=&" + theClientID, nil, 400, "invalid_request"},
		"a refresh for a blank scope":  {"token", refresh + "&scope=+&" + theClientID, nil, 400, "invalid_scope"},
		"a code twice":                 {"token", poll + "&device_code=dc&" + theClientID, nil, 400, "invalid_request"},
		"a suspended tenant's poll":    {"token", poll + "&client_id=hfc_suspended", nil, 403, "tenant_suspended"},
		"a beginning by Basic":         {"device_authorization", theClientID, []string{basic}, 401, "invalid_client"},
		"a beginning of nobody's":      {"device_authorization", "scope=play", nil, 400, "invalid_request"},
		"a beginning without a client": {"device_authorization", "client_id=", nil, 400, "invalid_request"},
		"a beginning without a body":   {"device_authorization", "", nil, 400, "invalid_request"},
		"a beginning, a blank scope":   {"device_authorization", theClientID + "&scope=+", nil, 400, "invalid_scope"},
		"a beginning, suspended":       {"device_authorization", "client_id=hfc_suspended", nil, 403, "tenant_suspended"},
		"a revocation by Basic":        {"revoke", "token=rt&" + theClientID, []string{basic}, 401, "invalid_client"},
		"a revocation of nothing":      {"revoke", theClientID, nil, 400, "invalid_request"},
		"a revocation of nobody's":     {"revoke", "token=rt", nil, 400, "invalid_request"},
		"an access token's revocation": {"revoke", "token=a.b.c&" + theClientID, nil, 400, "unsupported_token_type"},
		"an access token's, elsewhere": {"revoke", "token=a.b.c&client_id=hfc_1", nil, 401, "invalid_client"},
	} {
		a := newTestAPI(t, testOptions{})
		w := a.form(t, c.endpoint, c.form, c.headers...)
		refusedAs(t, name, w, c.status, c.code)
		if a.directory.got != nil {
			t.Errorf("%s: the domain was called with %v", name, a.directory.got)
		}
	}
}

func TestOAuth_WhatTheDomainRefusesKeepsItsWord(t *testing.T) {
	t.Parallel()
	refused := func(code string) error { return &tenancy.GrantError{Code: code, Description: "Why."} }
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"pending":                {refused(tenancy.GrantAuthorizationPending), 400, "authorization_pending"},
		"too early":              {refused(tenancy.GrantSlowDown), 400, "slow_down"},
		"denied":                 {refused(tenancy.GrantAccessDenied), 400, "access_denied"},
		"expired":                {refused(tenancy.GrantExpiredToken), 400, "expired_token"},
		"spent":                  {refused(tenancy.GrantInvalidGrant), 400, "invalid_grant"},
		"a scope too many":       {refused(tenancy.GrantInvalidScope), 400, "invalid_scope"},
		"a label too long":       {domain.Invalid("label_too_long", "Why.").At("/label"), 400, "invalid_request"},
		"a suspended tenant":     {domain.Forbidden("tenant_suspended", "Why."), 403, "tenant_suspended"},
		"an importing namespace": {domain.Forbidden("namespace_importing", "Why."), 403, "namespace_importing"},
	} {
		for endpoint, form := range map[string]string{
			"token":                "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=dc&",
			"device_authorization": "",
			"revoke":               "token=rt&",
		} {
			a := newTestAPI(t, testOptions{})
			a.directory.err = c.err
			refusedAs(t, endpoint+": "+name, a.form(t, endpoint, form+theClientID), c.status, c.code)
		}
	}
	a := newTestAPI(t, testOptions{})
	a.directory.err = domain.Unavailable("database_busy", "Try again.")
	if p := problemIn(t, a.form(t, "revoke", "token=rt&"+theClientID)); p.Status != http.StatusServiceUnavailable || p.Code != "database_busy" {
		t.Errorf("what the RFCs have no word for: %d %s", p.Status, p.Code)
	}
}

// refusedAs demands a refusal in the form of RFC 6749, section 5.2.
func refusedAs(t *testing.T, name string, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	var got OAuthError
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%s: %d %s", name, w.Code, w.Body)
	}
	if w.Code != status || got.Error != code || w.Header().Get("Content-Type") != mediaJSON || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
	}
	outside := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if got.ErrorDescription == "" || strings.ContainsFunc(got.ErrorDescription, outside) {
		t.Errorf("%s: the description has no words, or characters that the RFC forbids: %s", name, got.ErrorDescription)
	}
	if (status == http.StatusUnauthorized) != (w.Header().Get("WWW-Authenticate") != "") {
		t.Errorf("%s: WWW-Authenticate is %q", name, w.Header().Get("WWW-Authenticate"))
	}
}

func TestMetadata_NamesTheEndpointsUnderTheIssuer(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: "/.well-known/oauth-authorization-server", anonymous: true})
	want := `{"device_authorization_endpoint":"https://holdfast.example/v1/oauth/device_authorization",` +
		`"grant_types_supported":["client_credentials","urn:ietf:params:oauth:grant-type:device_code","refresh_token"],` +
		`"issuer":"https://holdfast.example","jwks_uri":"https://holdfast.example/.well-known/jwks.json","response_types_supported":[],` +
		`"revocation_endpoint":"https://holdfast.example/v1/oauth/revoke","revocation_endpoint_auth_methods_supported":["none"],` +
		`"token_endpoint":"https://holdfast.example/v1/oauth/token",` +
		`"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","none"]}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
	if got := w.Header().Get("Cache-Control"); got != "public, max-age=3600" {
		t.Errorf("Cache-Control is %q", got)
	}
}
