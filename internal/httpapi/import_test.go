package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

const importPath = "/v1/accounts/import"

func (a *testAPI) importLines(t testing.TB, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return a.do(t, request{method: "POST", target: importPath, body: body, headers: append([]string{"Content-Type: application/x-ndjson"}, headers...)})
}

// resultsIn reads an import's answer in short: "1 key created", and of a failed
// line its code and pointers.
func resultsIn(t testing.TB, w *httptest.ResponseRecorder) (results []string) {
	t.Helper()
	if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != mediaNDJSON {
		t.Fatalf("%d as %s: %s", w.Code, got, w.Body)
	}
	for text := range strings.Lines(w.Body.String()) {
		var r ImportResult
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		words := []string{fmt.Sprint(r.Line), orZero(r.Key), r.Result}
		if e := r.Error; e != nil {
			words = append(words, e.Code)
			for _, field := range orZero(e.Errors) {
				words = append(words, field.Pointer+"="+field.Code)
			}
			if e.Detail == "" || r.ID != nil {
				t.Errorf("result %s", text)
			}
		}
		results = append(results, strings.Join(words, " "))
	}
	return results
}

func TestImport_HandsTheDomainExactlyWhatTheLinesSay(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.importLines(t, `{"key":"u1","account":{"handle":"Ada","email":"a@b.de","email_verified":true,"email_verified_at":"2011-01-02T03:04:05Z","display_name":"Ada",`+
		`"attributes":{"n": 1.50},"status":"disabled","created_at":"2010-01-02T03:04:05+01:00"}}`+"\r\n"+
		` {"device":{"account_key":"u1","label":"TV","status":"approved"},"key":"d1"} `+"\n"+
		`{"key":"d2","device":{"account_id":"`+knownAccount.String()+`","label":null,"status":"pending","user_code":"WDJB-MJHT","expires_at":"2030-01-01T00:00:00Z"}}`)
	want := []string{
		`{"family":"account","id":"01930000-0000-0000-0000-000000000001","key":"u1","line":1,"result":"created"}`,
		`{"family":"account","id":"01930000-0000-0000-0000-000000000001","key":"d1","line":2,"result":"created"}`,
		`{"family":"account","id":"01930000-0000-0000-0000-000000000001","key":"d2","line":3,"result":"created"}`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", w.Body.String()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	created, verified := time.Date(2010, 1, 2, 2, 4, 5, 0, time.UTC), time.Date(2011, 1, 2, 3, 4, 5, 0, time.UTC)
	expires := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	lines := []identity.ImportLine{
		{Key: "u1", Account: &identity.ImportAccount{
			Handle: "Ada", Email: new("a@b.de"), EmailVerified: new(true), EmailVerifiedAt: &verified, DisplayName: new("Ada"),
			Attributes: json.RawMessage(`{"n": 1.50}`), Status: identity.Disabled, CreatedAt: &created,
		}},
		{Key: "d1", Device: &identity.ImportDevice{AccountKey: "u1", Label: new("TV"), Status: identity.DeviceApproved}},
		{Key: "d2", Device: &identity.ImportDevice{Account: knownAccount, Status: identity.DevicePending, UserCode: new("WDJB-MJHT"), ExpiresAt: &expires}},
	}
	if diff := cmp.Diff(lines, a.directory.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// I14 too: each line is judged like any JSON body, and stops none of the others.
func TestImport_AWrongLineIsItsOwnResultAndStopsNoOther(t *testing.T) {
	t.Parallel()
	account := func(members string) string { return `{"key":"k","account":{"handle":"a"` + members + `}}` }
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for name, c := range map[string]struct{ line, want string }{
		"nothing":               {"", " failed json_malformed"},
		"white space":           {" \t", " failed json_malformed"},
		"no JSON":               {"x", " failed json_malformed"},
		"half a value":          {`{"key":"k"`, " failed json_malformed"},
		"two values":            {account("") + account(""), " failed json_trailing"},
		"a key twice":           {account(`,"handle":"b"`), " failed json_duplicate_key /account/handle=json_duplicate_key"},
		"NUL":                   {account(`,"display_name":"\u0000"`), " failed nul_not_allowed /account/display_name=nul_not_allowed"},
		"a lone surrogate":      {account(`,"display_name":"\ud800"`), " failed json_malformed"},
		"invalid UTF-8":         {account(`,"display_name":"` + "\xff" + `"`), " failed json_malformed"},
		"too deep":              {account(`,"attributes":{"a":` + deep + `}`), " failed json_too_deep"},
		"a list":                {"[]", " failed request_invalid =wrong_type"},
		"null":                  {"null", " failed request_invalid =null_not_allowed"},
		"no key":                {`{"account":{"handle":"a"}}`, " failed request_invalid /key=required"},
		"nothing in it":         {"{}", " failed request_invalid =too_few /key=required"},
		"an empty key":          {`{"key":"","account":{"handle":"a"}}`, " failed request_invalid /key=too_short"},
		"a key too long":        {`{"key":"` + strings.Repeat("é", 256) + `","account":{"handle":"a"}}`, strings.Repeat("é", 256) + " failed request_invalid /key=too_long"},
		"a key of no length":    {`{"key":"` + strings.Repeat("k", 2000) + `","account":{"handle":"a"}}`, " failed request_invalid /key=too_long"},
		"a key that is a list":  {`{"key":[],"account":{"handle":"a"}}`, " failed request_invalid /key=wrong_type"},
		"neither":               {`{"key":"k"}`, "k failed request_invalid =too_few"},
		"both":                  {`{"key":"k","account":{"handle":"a"},"device":{"status":"revoked"}}`, "k failed request_invalid =too_many"},
		"both, and another":     {`{"key":"k","account":{"handle":"a"},"device":{"status":"revoked"},"x":1}`, "k failed request_invalid =too_many /x=unknown_field"},
		"an unknown kind":       {`{"key":"k","acount":{"handle":"a"}}`, "k failed request_invalid /acount=unknown_field"},
		"a field beside":        {`{"key":"k","account":{"handle":"a"},"id":7,"Key":"k"}`, "k failed request_invalid /Key=unknown_field /id=unknown_field"},
		"an unknown field":      {account(`,"Handle":"b"`), "k failed request_invalid /account/Handle=unknown_field"},
		"a wrong status":        {account(`,"status":"deleted"`), "k failed request_invalid /account/status=not_one_of"},
		"a time of no calendar": {account(`,"created_at":"2026-06-30T23:59:60Z"`), "k failed request_invalid /account/created_at=wrong_type"},
		"an account's id":       {`{"key":"k","device":{"account_id":"x","status":"approved"}}`, "k failed request_invalid /device/account_id=wrong_format"},
		"a device of no status": {`{"key":"k","device":{}}`, "k failed request_invalid /device/status=required"},
	} {
		a := newTestAPI(t, testOptions{})
		w := a.importLines(t, account("")+"\n"+c.line+"\n"+account("")+"\n")
		want := []string{"1 k created", "2 " + c.want, "3 k created"}
		if diff := cmp.Diff(want, resultsIn(t, w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestImport_TheDomainsErrorsPointIntoTheLine(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.wrong = map[string]*domain.Error{
		"taken":   domain.Conflict("email_taken", "It is in use.").At("/email"),
		"code":    domain.Conflict("user_code_taken", "It is in use.").At("/user_code"),
		"reused":  domain.Invalid("idempotency_key_reused", "Something else was.").At("/key"),
		"busy":    domain.Unavailable("database_busy", "Try again."),
		"pending": domain.Conflict("claim_pending", "Try again.").After(4200 * time.Millisecond),
		"unknown": domain.OutcomeUnknown("outcome_unknown", "Nobody knows."),
	}
	var body strings.Builder
	for _, key := range []string{"taken", "code", "reused", "busy", "pending", "unknown"} {
		record := `"account":{"handle":"a"}`
		if key == "code" {
			record = `"device":{"status":"revoked"}`
		}
		fmt.Fprintf(&body, `{"key":"%s",%s}`+"\n", key, record)
	}
	w := a.importLines(t, body.String())
	want := []string{
		"1 taken failed email_taken /account/email=email_taken",
		"2 code failed user_code_taken /device/user_code=user_code_taken",
		"3 reused failed idempotency_key_reused /key=idempotency_key_reused",
		"4 busy failed database_busy",
		"5 pending failed claim_pending",
		"6 unknown failed outcome_unknown",
	}
	if diff := cmp.Diff(want, resultsIn(t, w)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	var after []int
	for text := range strings.Lines(w.Body.String()) {
		var r ImportResult
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		after = append(after, orZero(r.Error.RetryAfter))
	}
	if diff := cmp.Diff([]int{0, 0, 0, 1, 5, 1}, after); diff != "" {
		t.Errorf("retry_after (-want +got):\n%s", diff)
	}
}

func TestImport_LimitsItsLinesAndItsLength(t *testing.T) {
	t.Parallel()
	padded := func(bytes int) string {
		const line = `{"key":"k","account":{"handle":"a"}}`
		return line + strings.Repeat(" ", bytes-len(line))
	}
	a := newTestAPI(t, testOptions{})
	for _, end := range []string{"", "\n"} {
		got := resultsIn(t, a.importLines(t, padded(64<<10)+"\n"+padded(64<<10+1)+"\n"+padded(200<<10)+"\n"+padded(40)+end))
		want := []string{"1 k created", "2  failed line_too_long", "3  failed line_too_long", "4 k created"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with the end %q (-want +got):\n%s", end, diff)
		}
	}
	if got := resultsIn(t, a.importLines(t, strings.Repeat("{}\n", 10_000))); len(got) != 10_000 {
		t.Errorf("10,000 lines have %d results", len(got))
	}
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
	}{
		"nothing":           {"", []string{"Content-Type: application/x-ndjson"}, 400, "body_missing"},
		"a line too many":   {strings.Repeat("{}\n", 10_001), nil, 413, "too_many_lines"},
		"a blank too many":  {strings.Repeat("\n", 10_001), nil, 413, "too_many_lines"},
		"a byte too many":   {strings.Repeat(padded(64<<10-1)+"\n", 256) + "\n", nil, 413, "body_too_large"},
		"another media":     {"{}", []string{"Content-Type: application/json"}, 415, "media_type_unsupported"},
		"a compressed body": {"{}", []string{"Content-Encoding: gzip"}, 415, "media_type_unsupported"},
	} {
		for _, chunked := range []bool{false, true} {
			headers := append([]string(nil), c.headers...)
			if chunked {
				headers = append(headers, "Transfer-Encoding: chunked")
			}
			w := a.importLines(t, c.body, headers...)
			if p := problemIn(t, w); w.Code != c.status || p.Code != c.code {
				t.Errorf("%s (chunked %v): %d %s", name, chunked, w.Code, p.Code)
			}
		}
	}
	if got := resultsIn(t, a.importLines(t, strings.Repeat(padded(64<<10-1)+"\n", 256))); len(got) != 256 {
		t.Errorf("16 MiB have %d results", len(got))
	}
}

func TestImport_WhatEndsItEarlyIsAnOrdinaryProblem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
		after  string
	}{
		"a suspended tenant": {domain.Forbidden("tenant_suspended", "It is."), 403, "tenant_suspended", ""},
		"no database":        {domain.Unavailable("database_unavailable", "Try again."), 503, "database_unavailable", "1"},
		"its time is up":     {fmt.Errorf("line 7: %w", context.DeadlineExceeded), 503, "timeout", "1"},
		"a broken service":   {fmt.Errorf("bug"), 500, "internal", ""},
	} {
		a := newTestAPI(t, testOptions{})
		a.directory.err = c.err
		w := a.importLines(t, "{}\n")
		if p := problemIn(t, w); w.Code != c.status || p.Code != c.code || w.Header().Get("Retry-After") != c.after {
			t.Errorf("%s: %d %s %v", name, w.Code, p.Code, w.Header())
		}
	}
}

func TestImport_ALineThatIsWrongEverywhereHasAShortResult(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	members := make([]string, 1000)
	for i := range members {
		members[i] = fmt.Sprintf(`"x%d":1`, i)
	}
	w := a.importLines(t, `{"key":"k","account":{`+strings.Join(members, ",")+`}}`)
	if got := resultsIn(t, w); len(got) != 1 || strings.Count(got[0], "=") != maxLineFields || w.Body.Len() > 2000 {
		t.Errorf("results are %s", got)
	}
}
