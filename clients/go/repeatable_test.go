package holdfast

import (
	"net/http"
	"net/url"
	"path"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/web"
)

// The document says which operations take an Idempotency-Key; the client must
// know exactly these.
func TestRepeatable_AreTheOperationsThatTakeAKey(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for template, item := range doc.Paths.Map() {
		if item.Post != nil && item.Post.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
			want[path.Base(template)] = true
		}
	}
	if diff := cmp.Diff(want, creating); diff != "" {
		t.Errorf("creating (-document +client):\n%s", diff)
	}
	for template, item := range doc.Paths.Map() {
		if item.Post == nil {
			continue
		}
		request := &http.Request{Method: http.MethodPost, URL: &url.URL{Path: template}}
		if word := path.Base(template); creates(request) != want[word] {
			t.Errorf("POST %s: creates is %v", template, creates(request))
		}
	}
}

// What is known to be harmless to repeat must be there under such a path.
func TestRepeatable_NamesOperationsThatThereAre(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for template, item := range doc.Paths.Map() {
		if parent, word := path.Split(template); item.Post != nil {
			there[path.Base(parent)+"/"+word] = true
		}
	}
	words := map[string]bool{}
	for end := range there {
		words[path.Base(end)] = true
	}
	for _, ends := range []map[string]bool{named, finishing} {
		for word := range ends {
			if !words[word] {
				t.Errorf("no operation is at …/%s", word)
			}
		}
	}
	for _, ends := range []map[string]bool{reading, settling, {importing: true}} {
		for end := range ends {
			if !there[end] {
				t.Errorf("no operation is at …/%s", end)
			}
		}
	}
}

// What the document says may be repeated, the client repeats.
func TestRepeatable_AreTheOperationsThatAreSaidToBe(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for template, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.Extensions["x-holdfast-repeatable"] != true {
				continue
			}
			said++
			if !repeatable(&http.Request{Method: method, URL: &url.URL{Path: template}}) {
				t.Errorf("%s %s is not repeated", method, template)
			}
		}
	}
	if said == 0 {
		t.Error("the document says so of none")
	}
}
