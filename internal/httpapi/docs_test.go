package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/holdfast-dev/holdfast/web"
)

// docsReference is what a page has loaded, or leads to.
var docsReference = regexp.MustCompile(`(?:src|href|action|data|srcset|poster)="([^"]*)"`)

// What the page loads, this server has, and the policy lets the page load it.
func TestDocs_ThePageNeedsNoOtherHost(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	page := a.docs(t, "/docs")
	base, err := url.Parse("https://holdfast.example/docs")
	if err != nil {
		t.Fatal(err)
	}
	loaded := map[string]bool{}
	for _, found := range docsReference.FindAllStringSubmatch(page.Body.String(), -1) {
		if found[1] == "data:," { // no icon
			continue
		}
		target, err := base.Parse(found[1])
		if err != nil || target.Host != base.Host || target.Scheme != base.Scheme {
			t.Errorf("the page refers to %s (%v)", found[1], err)
			continue
		}
		loaded[target.Path] = true
		if w := a.do(t, request{method: "GET", target: target.Path, anonymous: true}); w.Code != http.StatusOK {
			t.Errorf("%s: %d", target.Path, w.Code)
		}
	}
	for _, path := range []string{"/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/docs/start.js", "/docs/page.css", "/openapi.json"} {
		if !loaded[path] {
			t.Errorf("the page doesn't refer to %s", path)
		}
	}
	policy := page.Header().Get("Content-Security-Policy")
	for directive, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self'", "connect-src": "'self'", "img-src": "'self' data:", "base-uri": "'none'", "frame-ancestors": "'none'",
	} {
		if !strings.Contains("; "+policy+";", "; "+directive+" "+want+";") {
			t.Errorf("the policy doesn't say %s %s: %s", directive, want, policy)
		}
	}
}

// The policy lets no script run that stands in the page, so there must be none.
func TestDocs_NoScriptStandsInThePage(t *testing.T) {
	t.Parallel()
	page := newTestAPI(t, testOptions{}).docs(t, "/docs").Body.String()
	if strings.Count(page, "<script") != strings.Count(page, `"></script>`) || strings.Contains(page, "<script>") {
		t.Error("a script has a text of its own")
	}
	if found := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// Neither its own script nor its style sheets name another host to load from.
func TestDocs_WhatIsLoadedLoadsFromHere(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	if script := a.docs(t, "/docs/start.js").Body.String(); strings.Contains(script, "//cdn") || regexp.MustCompile(`https?:`).MatchString(script) ||
		!strings.Contains(script, "validatorUrl: null") {
		t.Error("start.js names a host")
	}
	for _, path := range []string{"/docs/page.css", "/docs/swagger-ui.css"} {
		for _, found := range regexp.MustCompile(`url\(\s*["']?([^"')]{0,40})|@import[^;]*`).FindAllStringSubmatch(a.docs(t, path).Body.String(), -1) {
			if !strings.HasPrefix(found[1], "data:") {
				t.Errorf("%s loads %s", path, found[0])
			}
		}
	}
}

func TestDocs_AreSentAsTheCallerTakesThemAndNotTwice(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for _, path := range []string{"/docs", "/docs/swagger-ui-bundle.js"} {
		plain := a.docs(t, path)
		packed := a.docs(t, path, "Accept-Encoding: br, gzip;q=0.8")
		if packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: encodings %q and %q", path, packed.Header().Get("Content-Encoding"), plain.Header().Get("Content-Encoding"))
		}
		unpacked, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(text, plain.Body.Bytes()) {
			t.Errorf("%s is another packed (%v)", path, err)
		}
		if refused := a.docs(t, path, "Accept-Encoding: gzip;q=0"); refused.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s is packed for a caller who refuses that", path)
		}
		tag := plain.Header().Get("ETag")
		if tag == "" || plain.Header().Get("Cache-Control") != "no-cache" || plain.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", path, plain.Header())
		}
		again := a.do(t, request{method: "GET", target: path, anonymous: true, headers: []string{`If-None-Match: "other", ` + tag}})
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") != tag {
			t.Errorf("%s again: %d, %d bytes", path, again.Code, again.Body.Len())
		}
	}
}

// A page is as readable as what it is made of: each operation stands under one
// heading that says what belongs there, has a title, and says what it does.
func TestDocs_EveryOperationHasAHeadingATitleAndWords(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	for template, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + template
			if len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil || doc.Tags.Get(op.Tags[0]).Description == "" {
				t.Errorf("%s has the tags %v, and not one that is described", name, op.Tags)
			}
			if op.Description == "" || strings.HasSuffix(op.Summary, ".") || op.Summary == "" || len(op.Summary) > 80 {
				t.Errorf("%s has the summary %q and the description %q", name, op.Summary, op.Description)
			}
			if other := titles[op.Summary]; other != "" {
				t.Errorf("%s and %s have the same title, %q", name, other, op.Summary)
			}
			titles[op.Summary] = name
		}
	}
}

func TestDocs_HasNoOtherFiles(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for _, path := range []string{"/docs/index.html", "/docs/docs.go", "/docs/swagger-ui-bundle.js.gz", "/docs/..%2fopenapi.yaml", "/docs/"} {
		if w := a.do(t, request{method: "GET", target: path, anonymous: true}); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// docs gets a file of the documentation.
func (a *testAPI) docs(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := a.do(t, request{method: "GET", target: path, anonymous: true, headers: headers})
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w
}
