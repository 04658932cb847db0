package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const accountPath = "/v1/accounts/01930000-0000-0000-0000-000000000001"

// TestConventions is the API's manners, one line each: what comes in, and the
// status, code and pointers that come out.
func TestConventions(t *testing.T) {
	t.Parallel()
	post := func(body string, headers ...string) request {
		return request{method: "POST", target: "/v1/accounts", body: body, headers: headers}
	}
	patch := func(body string, headers ...string) request {
		return request{method: "PATCH", target: accountPath, body: body, headers: append(headers, `If-Match: "7"`)}
	}
	for name, c := range map[string]struct {
		request  request
		status   int
		code     string
		pointers string // "/email=too_long ?x=unknown_parameter"
	}{
		"a route that isn't there":                    {request{method: "GET", target: "/v2/accounts"}, 404, "route_not_found", ""},
		"a path below a route with a parameter":       {request{method: "GET", target: "/v1/devices/x/events"}, 404, "route_not_found", ""},
		"a path below a route":                        {request{method: "GET", target: "/v1/oauth/token/x"}, 404, "route_not_found", ""},
		"a method that the path doesn't know":         {request{method: "PUT", target: "/v1/accounts"}, 405, "method_not_allowed", ""},
		"no token":                                    {request{method: "GET", target: "/v1/accounts", anonymous: true}, 401, "token_missing", ""},
		"a token that isn't ours":                     {request{method: "GET", target: "/v1/accounts", token: "x"}, 401, "token_invalid", ""},
		"another kind of credentials":                 {request{method: "GET", target: "/v1/accounts", anonymous: true, headers: []string{"Authorization: Basic eDp5"}}, 401, "token_malformed", ""},
		"two tokens":                                  {request{method: "GET", target: "/v1/accounts", headers: []string{"Authorization: Bearer tenant"}}, 401, "token_malformed", ""},
		"a scope that wasn't granted":                 {request{method: "POST", target: "/v1/accounts", token: "reader", body: `{"handle":"a"}`}, 403, "insufficient_scope", ""},
		"a tenant's principal with an operator scope": {request{method: "GET", target: "/v1/tenants", token: "impostor"}, 403, "insufficient_scope", ""},
		"an operator with a tenant's scope":           {request{method: "GET", target: "/v1/accounts", token: "operator"}, 403, "insufficient_scope", ""},
		"the token is judged before the body":         {request{method: "POST", target: "/v1/accounts", token: "x", body: `{`}, 401, "token_invalid", ""},

		"no body":                                  {post(""), 400, "body_missing", ""},
		"a body for an operation without one":      {request{method: "GET", target: accountPath, body: `{}`}, 400, "body_unexpected", ""},
		"an unknown length for one without a body": {request{method: "DELETE", target: accountPath, body: `{}`, headers: []string{"Content-Length: -"}}, 400, "body_unexpected", ""},
		"no content type":                          {post(`{"handle":"a"}`, "Content-Type: -"), 415, "media_type_unsupported", ""},
		"another content type":                     {post(`{"handle":"a"}`, "Content-Type: text/plain"), 415, "media_type_unsupported", ""},
		"a content type that can't be parsed":      {post(`{"handle":"a"}`, "Content-Type: application/json; ="), 415, "media_type_unsupported", ""},
		"another charset":                          {post(`{"handle":"a"}`, "Content-Type: application/json; charset=latin1"), 415, "media_type_unsupported", ""},
		"a media type that only begins right":      {patch(`{}`, "Content-Type: application/json-patch+json"), 415, "media_type_unsupported", ""},
		"a content encoding":                       {post(`{"handle":"a"}`, "Content-Encoding: gzip"), 415, "media_type_unsupported", ""},
		"a body of more than 1 MiB":                {post(`{"handle":"` + strings.Repeat("a", 1<<20) + `"}`), 413, "body_too_large", ""},

		"half a body":                          {post(`{"handle":`), 400, "json_malformed", ""},
		"white space for a body":               {post(` `), 400, "json_malformed", ""},
		"an unknown field":                     {post(`{"handle":"a","admin":true}`), 422, "request_invalid", "/admin=unknown_field"},
		"an unknown field that needs escaping": {post(`{"handle":"a","a/b~c":1}`), 422, "request_invalid", "/a~1b~0c=unknown_field"},
		"a field's twin in capitals":           {post(`{"handle":"a","HANDLE":"b"}`), 422, "request_invalid", "/HANDLE=unknown_field"},
		"a missing field":                      {post(`{}`), 422, "request_invalid", "/handle=required"},
		"a wrong type":                         {post(`{"handle":1}`), 422, "request_invalid", "/handle=wrong_type"},
		"null where there is none":             {post(`{"handle":null}`), 422, "request_invalid", "/handle=null_not_allowed"},
		"an array for the body":                {post(`[]`), 422, "request_invalid", "=wrong_type"},
		"too short, too long, and wrong":       {post(`{"handle":"","email":"` + strings.Repeat("e", 255) + `","email_verified":"yes"}`), 422, "request_invalid", "/email=too_long /email_verified=wrong_type /handle=too_short"},
		"attributes that are no object":        {post(`{"handle":"a","attributes":[]}`), 422, "request_invalid", "/attributes=wrong_type"},

		"an unknown query parameter":            {request{method: "GET", target: "/v1/accounts?limits=1"}, 422, "request_invalid", "?limits=unknown_parameter"},
		"a query parameter where none is known": {request{method: "GET", target: accountPath + "?x"}, 422, "request_invalid", "?x=unknown_parameter"},
		"a query parameter twice":               {request{method: "GET", target: "/v1/accounts?limit=1&limit=1"}, 422, "request_invalid", "?limit=repeated_parameter"},
		"a query that can't be parsed":          {request{method: "GET", target: "/v1/accounts?limit=%zz"}, 400, "query_malformed", ""},
		"NUL in a query":                        {request{method: "GET", target: "/v1/accounts?cursor=%00"}, 400, "query_malformed", ""},
		"invalid UTF-8 in a query":              {request{method: "GET", target: "/v1/accounts?cursor=%ff"}, 400, "query_malformed", ""},
		"a limit that is no number":             {request{method: "GET", target: "/v1/accounts?limit=ten"}, 422, "request_invalid", "?limit=wrong_format"},
		"a limit beyond all integers":           {request{method: "GET", target: "/v1/accounts?limit=99999999999999999999"}, 422, "request_invalid", "?limit=wrong_format"},
		"an empty limit":                        {request{method: "GET", target: "/v1/accounts?limit="}, 422, "request_invalid", "?limit=wrong_format"},
		"a filter that isn't known":             {request{method: "GET", target: "/v1/accounts?status=deleted"}, 422, "request_invalid", "?status=not_one_of"},
		"a cursor of nobody's":                  {request{method: "GET", target: "/v1/accounts?cursor=AAAA"}, 422, "cursor_invalid", "?cursor=cursor_invalid"},

		"an idempotency key that is too long": {post(`{"handle":"a"}`, "Idempotency-Key: "+strings.Repeat("k", 256)), 422, "request_invalid", "Idempotency-Key=too_long"},
		"an idempotency key with a space":     {post(`{"handle":"a"}`, "Idempotency-Key: a b"), 422, "request_invalid", "Idempotency-Key=wrong_format"},
		"an empty idempotency key":            {post(`{"handle":"a"}`, "Idempotency-Key: "), 422, "request_invalid", "Idempotency-Key=too_short"},
		"two idempotency keys":                {post(`{"handle":"a"}`, "Idempotency-Key: a", "Idempotency-Key: b"), 400, "header_repeated", "Idempotency-Key=header_repeated"},

		"a change without its precondition": {request{method: "DELETE", target: accountPath}, 428, "if_match_required", "If-Match=if_match_required"},
		"a change of whatever is there":     {request{method: "DELETE", target: accountPath, headers: []string{"If-Match: *"}}, 428, "if_match_required", "If-Match=if_match_required"},
		"a precondition of another maker":   {request{method: "DELETE", target: accountPath, headers: []string{`If-Match: "abc"`}}, 412, "revision_stale", "If-Match=revision_stale"},
		"a weak precondition":               {request{method: "DELETE", target: accountPath, headers: []string{`If-Match: W/"7"`}}, 412, "revision_stale", "If-Match=revision_stale"},
		"a precondition without quotes":     {request{method: "DELETE", target: accountPath, headers: []string{`If-Match: 7`}}, 400, "if_match_malformed", "If-Match=if_match_malformed"},
		"several preconditions":             {request{method: "DELETE", target: accountPath, headers: []string{`If-Match: "7", "8"`}}, 400, "if_match_malformed", "If-Match=if_match_malformed"},

		"an optional precondition that is weak":    {request{method: "DELETE", target: accountPath + "/email", headers: []string{`If-Match: W/"7"`}}, 412, "revision_stale", "If-Match=revision_stale"},
		"an optional precondition that is no tag":  {request{method: "DELETE", target: accountPath + "/email", headers: []string{`If-Match: 7`}}, 400, "if_match_malformed", "If-Match=if_match_malformed"},
		"a device's change without a precondition": {request{method: "PATCH", target: devicePath, body: `{}`}, 428, "if_match_required", "If-Match=if_match_required"},
		"a device's end without a precondition":    {request{method: "DELETE", target: devicePath}, 428, "if_match_required", "If-Match=if_match_required"},
		"a device that isn't one":                  {request{method: "GET", target: "/v1/devices/1"}, 404, "device_not_found", ""},
		"a user code in a patch":                   {request{method: "PATCH", target: devicePath, body: `{"user_code":"X"}`, headers: []string{`If-Match: "1"`}}, 422, "user_code_immutable", "/user_code=user_code_immutable"},
		"its end too":                              {request{method: "PATCH", target: devicePath, body: `{"user_code":null,"expires_at":null}`, headers: []string{`If-Match: "1"`}}, 422, "user_code_immutable", "/user_code=user_code_immutable /expires_at=expires_at_immutable"},
		"its end alone":                            {request{method: "PATCH", target: devicePath, body: `{"expires_at":"2030-01-01T00:00:00Z"}`, headers: []string{`If-Match: "1"`}}, 422, "expires_at_immutable", "/expires_at=expires_at_immutable"},
		"a status in a device's patch":             {request{method: "PATCH", target: devicePath, body: `{"status":"approved"}`, headers: []string{`If-Match: "1"`}}, 422, "request_invalid", "/status=unknown_field"},
		"a label that is too long":                 {request{method: "POST", target: "/v1/devices", body: `{"label":"` + strings.Repeat("é", 201) + `"}`}, 422, "request_invalid", "/label=too_long"},
		"a pending device in an account's list":    {request{method: "GET", target: accountPath + "/devices?status=pending"}, 422, "request_invalid", "?status=not_one_of"},
		"a guess for nobody":                       {request{method: "POST", target: "/v1/device-codes/approve", body: `{"user_code":"x"}`}, 422, "request_invalid", "/account_id=required"},
		"a guess for what isn't an account":        {request{method: "POST", target: "/v1/device-codes/approve", body: `{"user_code":"x","account_id":"x"}`}, 422, "request_invalid", "/account_id=wrong_format"},
		"a guess of nothing":                       {request{method: "POST", target: "/v1/device-codes/lookup", body: `{"user_code":"","account_id":"x"}`}, 422, "request_invalid", "/user_code=too_short"},
		"a guess with a reader's token":            {request{method: "POST", target: "/v1/device-codes/lookup", token: "reader", body: `{"user_code":"x","account_id":"x"}`}, 403, "insufficient_scope", ""},
		"an email change to nothing":               {request{method: "POST", target: accountPath + "/email-changes", body: `{"email":""}`}, 422, "request_invalid", "/email=too_short"},
		"a confirmation with a number":             {request{method: "POST", target: changePath + "/confirm", body: `{"code":12345678}`}, 422, "request_invalid", "/code=wrong_type"},
		"a client without a place for codes":       {request{method: "POST", target: clientsPath, token: "operator", body: `{"name":"tv"}`}, 422, "request_invalid", "/verification_uri=required"},
		"a client of the operators":                {request{method: "GET", target: "/v1/tenants/00000000-0000-0000-0000-000000000000/clients", token: "operator"}, 404, "tenant_not_found", ""},
		"an identity state of nobody's":            {request{method: "POST", target: "/v1/tenants", token: "operator", body: `{"name":"a","identity_state":"shut"}`}, 422, "request_invalid", "/identity_state=not_one_of"},

		"a handle in a patch":    {patch(`{"handle":"b"}`), 422, "handle_immutable", "/handle=handle_immutable"},
		"an email in a patch":    {patch(`{"email":null}`), 422, "email_not_patchable", "/email=email_not_patchable"},
		"both in a patch":        {patch(`{"handle":"b","email":"a@b.de"}`), 422, "handle_immutable", "/handle=handle_immutable /email=email_not_patchable"},
		"and a wrong status":     {patch(`{"handle":null,"email":"a@b.de","status":"deleted"}`), 422, "request_invalid", "/email=email_not_patchable /handle=handle_immutable /status=not_one_of"},
		"a status of nobody's":   {patch(`{"status":"deleted"}`), 422, "request_invalid", "/status=not_one_of"},
		"an id that isn't one":   {request{method: "GET", target: "/v1/accounts/1"}, 404, "account_not_found", ""},
		"an id in capitals":      {request{method: "GET", target: strings.ToUpper(accountPath[:13]) + "x"}, 404, "route_not_found", ""},
		"an id with a NUL":       {request{method: "GET", target: "/v1/accounts/%00"}, 404, "account_not_found", ""},
		"the operators' own id":  {request{method: "GET", target: "/v1/tenants/00000000-0000-0000-0000-000000000000", token: "operator"}, 404, "tenant_not_found", ""},
		"a sweep of no kind":     {request{method: "POST", target: "/v1/sweeps/claims/run", token: "operator"}, 404, "sweep_not_found", ""},
		"a sweep for a tenant":   {request{method: "POST", target: "/v1/sweeps/identity/run", token: "impostor"}, 403, "insufficient_scope", ""},
		"no ids":                 {request{method: "POST", target: "/v1/accounts/batch-get", body: `{"ids":[]}`}, 422, "request_invalid", "/ids=too_few"},
		"ids that aren't":        {request{method: "POST", target: "/v1/accounts/batch-get", body: `{"ids":["x","01930000-0000-0000-0000-00000000000A"]}`}, 422, "request_invalid", "/ids/0=wrong_format /ids/1=wrong_format"},
		"a lookup by nothing":    {request{method: "POST", target: "/v1/accounts/lookup", body: `{}`}, 422, "request_invalid", "=too_few"},
		"a lookup by an unknown": {request{method: "POST", target: "/v1/accounts/lookup", body: `{"handle":"a","Email":"b@c.de"}`}, 422, "request_invalid", "/Email=unknown_field"},
		"a lookup by two things": {request{method: "POST", target: "/v1/accounts/lookup", body: `{"handle":"a","email":"b@c.de"}`}, 422, "request_invalid", "=too_many"},
		"a time of no calendar":  {request{method: "POST", target: "/v1/operators/01930000-0000-0000-0000-000000000001/api-keys", token: "operator", body: `{"expires_at":"2026-06-30T23:59:60Z"}`}, 422, "request_invalid", "/expires_at=wrong_type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTestAPI(t, testOptions{})
			w := a.do(t, c.request)
			p := problemIn(t, w)
			var pointers []string
			for _, f := range fieldsIn(p) {
				pointers = append(pointers, f.Pointer+"="+f.Code)
			}
			if w.Code != c.status || p.Code != c.code || strings.Join(pointers, " ") != c.pointers {
				t.Errorf("got %d %s %q, want %d %s %q", w.Code, p.Code, strings.Join(pointers, " "), c.status, c.code, c.pointers)
			}
			if a.directory.got != nil || a.store.got != nil || a.jobs.got != nil {
				t.Errorf("the domain was called with %v", a.directory.got)
			}
		})
	}
}

// HEAD is served wherever GET is, and nowhere else.
func TestProblem_MethodNotAllowedNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for _, c := range []struct {
		request
		status int
		allow  []string
	}{
		{request{method: "PUT", target: accountPath}, 405, []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH"}},
		{request{method: "POST", target: "/livez"}, 405, []string{"GET", "HEAD", "OPTIONS"}},
		{request{method: "GET", target: "/v1/oauth/token"}, 405, []string{"OPTIONS", "POST"}},
		{request{method: "HEAD", target: "/v1/oauth/token"}, 405, []string{"OPTIONS", "POST"}},
		{request{method: "OPTIONS", target: accountPath}, 204, []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH"}},
	} {
		w := a.do(t, c.request)
		allow := strings.Split(w.Header().Get("Allow"), ", ")
		slices.Sort(allow)
		if w.Code != c.status || !slices.Equal(allow, c.allow) {
			t.Errorf("%s %s is %d with Allow %v, want %d with %v", c.method, c.target, w.Code, allow, c.status, c.allow)
		}
	}
}

func TestProblem_ChallengesSayWhatWouldBeAccepted(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	got := map[string]string{
		"none":  a.do(t, request{method: "GET", target: "/v1/accounts", anonymous: true}).Header().Get("WWW-Authenticate"),
		"wrong": a.do(t, request{method: "GET", target: "/v1/accounts", token: "x"}).Header().Get("WWW-Authenticate"),
		"scope": a.do(t, request{method: "DELETE", target: accountPath, token: "reader"}).Header().Get("WWW-Authenticate"),
	}
	want := map[string]string{
		"none":  `Bearer realm="holdfast"`,
		"wrong": `Bearer realm="holdfast", error="invalid_token"`,
		"scope": `Bearer realm="holdfast", error="insufficient_scope", scope="identity:write"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("WWW-Authenticate (-want +got):\n%s", diff)
	}
}

func TestRequestID_IsTheCallersIfSaneAndOnEverything(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for sent, kept := range map[string]bool{
		"abc-1.2_Z": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a\tb": false, "é": false, `"`: false,
	} {
		for _, target := range []string{"/livez", "/nowhere", accountPath} {
			w := a.do(t, request{method: "GET", target: target, headers: []string{"X-Request-Id: " + sent}})
			got := w.Header().Get("X-Request-Id")
			if kept != (got == sent) || got == "" {
				t.Errorf("%s with %q: X-Request-Id is %q", target, sent, got)
			}
		}
	}
}

func TestAccount_IsEncodedWholeWithNullsAndUTC(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: accountPath})
	want := `{"attributes":{"n":12345678901234567890.5},"created_at":"2026-11-30T12:00:00Z","display_name":null,` +
		`"email":"Ada@example.com","email_verified_at":"2026-11-30T12:00:00Z","handle":"Ada",` +
		`"id":"01930000-0000-0000-0000-000000000001","revision":7,"status":"active","updated_at":"2026-11-30T12:00:00Z"}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("body is %s\nwant     %s", got, want)
	}
	if got := w.Header().Get("ETag"); got != `"7"` {
		t.Errorf(`ETag is %s, want "7"`, got)
	}
}

func TestList_OfNothingIsAnEmptyListWithoutACursor(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for target, want := range map[string]string{
		"/v1/accounts":           `{"accounts":[]}`,
		"/v1/tenants":            `{"tenants":[]}`,
		"/v1/sweeps":             `{"sweeps":[]}`,
		"/.well-known/jwks.json": `{"keys":[]}`,
	} {
		token := "operator"
		if target == "/v1/accounts" {
			token = "tenant"
		}
		w := a.do(t, request{method: "GET", target: target, token: token})
		if got := strings.TrimSpace(w.Body.String()); got != want {
			t.Errorf("%s answers %s, want %s", target, got, want)
		}
	}
}
