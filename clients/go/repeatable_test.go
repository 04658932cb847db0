package holdfast

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/holdfast-dev/holdfast/web"
)

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

// The document says which operations take an Idempotency-Key and which may be repeated;
// the client must know exactly these, whatever ids stand in their paths and wherever the
// service stands.
func TestRepeatable_AreTheOperationsThatTheDocumentSays(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	keyed, said := 0, 0
	for template, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			takesKey := op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
			repeats := op.Extensions["x-holdfast-repeatable"] == true
			for _, id := range []string{"x", "accounts", "2026%2F1", "a%2Fpublish"} {
				target, err := url.Parse("https://holdfast.test/api" + pathParameter.ReplaceAllString(template, id))
				if err != nil {
					t.Fatal(err)
				}
				request := &http.Request{Method: method, URL: target, Header: http.Header{}}
				if got, want := creates(request), takesKey && method == http.MethodPost; got != want {
					t.Errorf("%s %s: creates is %v", method, target.EscapedPath(), got)
				}
				if got, want := repeatable(request), repeats || method == http.MethodGet || method == http.MethodPut; got != want {
					t.Errorf("%s %s: repeatable is %v", method, target.EscapedPath(), got)
				}
				if request.Header.Set("Idempotency-Key", "k"); takesKey && !repeatable(request) {
					t.Errorf("%s %s is not repeated under a key", method, target.EscapedPath())
				}
			}
			if takesKey {
				keyed++
			}
			if repeats {
				said++
			}
		}
	}
	if keyed < 10 || said < 10 {
		t.Errorf("the document says so of %d and %d operations", keyed, said)
	}
}

// What may have been done once must not be done twice: an append's entries may have no
// ids, and a handoff's second try would find another holder.
func TestRepeatable_AreNotThoseThatCouldBeDoneTwice(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/worlds/w/journal", "/v1/worlds/w/lease/handoff", "/v1/worlds/w/lease/revoke", "/v1/device-codes/approve", "/v1/device-codes/lookup", "/nothing"} {
		if repeatable(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}}) {
			t.Errorf("POST %s is repeated", path)
		}
	}
	for _, method := range []string{http.MethodPatch, http.MethodDelete} {
		if repeatable(&http.Request{Method: method, URL: &url.URL{Path: "/v1/accounts/x"}}) {
			t.Errorf("%s /v1/accounts/x is repeated", method)
		}
	}
}
