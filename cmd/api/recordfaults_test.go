package main

import (
	"net/http"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// R1: a PUT whose answer was lost is settled by what a GET finds.
func TestRecord_AnUploadWhoseAnswerWasLostIsTakenForWhatItIs(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	k.network.On("PUT", testkit.LostAnswer())
	receipt := k.create(t, "a", map[string]string{"items": "hello"})
	if receipt.Outcome != "published" || receipt.Revision != 1 {
		t.Errorf("published as %+v", receipt)
	}
	if puts := k.network.Count("PUT"); puts != 1 {
		t.Errorf("%d uploads were made", puts)
	}
	if got := k.ask(t, "GET", bodyAt("a", "items"), ""); got.text() != "hello" {
		t.Errorf("read %d %s", got.status, got.body)
	}
}

// R3: a body that doesn't come back whole publishes nothing, and is no missing one.
func TestRecord_ABodyThatDoesNotComeBackWholePublishesNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]testkit.Fault{
		"cut off at 60 %":      testkit.CutAt(0.6),
		"short without a word": testkit.ShortAnswer(0.6),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, 2)
			body := strings.Repeat("hello ", 50_000)
			k.network.AtRandom(1, 1, fault)
			refused := k.ask(t, "PUT", at("a"), publication("o", map[string]string{"items": body}), "If-None-Match: *")
			refused.expectProblem(t, http.StatusServiceUnavailable, "object_store_unavailable")
			if refused.header.Get("Retry-After") == "" {
				t.Errorf("nobody is told to try again: %v", refused.header)
			}
			k.network.AtRandom(1, 0)
			k.ask(t, "GET", at("a"), "").expectProblem(t, http.StatusNotFound, "record_not_found")
			k.ask(t, "GET", "/receipts/o", "").expectProblem(t, http.StatusNotFound, "receipt_not_found")
			again := k.ask(t, "PUT", at("a"), publication("o", map[string]string{"items": body}), "If-None-Match: *")
			if again.status != http.StatusOK || again.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("afterwards: %d %s", again.status, again.body)
			}
		})
	}
}

// R3: what can't be had is unavailable wherever it is asked for, and never missing.
func TestRecord_ABodyThatCannotBeHadIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]testkit.Fault{
		"cut off at 60 %":      testkit.CutAt(0.6),
		"short without a word": testkit.ShortAnswer(0.6),
		"not there":            testkit.Refuse(http.StatusNotFound, "NoSuchKey", 0),
		"other bytes":          testkit.WrongBytes(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, 2)
			k.create(t, "a", map[string]string{"items": "hello", "plans": "there"})
			k.network.AtRandom(1, 1, func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, helloDigest) {
					return pass()
				}
				return fault(r, pass)
			})
			for _, c := range []struct{ method, path, body string }{
				{"GET", bodyAt("a", "items"), ""},
				{"GET", at("a") + "?include=bodies", ""},
				{"PUT", at("a") + "?include=bodies", publication("o", map[string]string{"items": "x"})},
				{"GET", "/export?include=bodies", ""},
			} {
				got := k.ask(t, c.method, c.path, c.body, `If-Match: "7"`)
				p := got.expectProblem(t, http.StatusServiceUnavailable, "body_unavailable")
				if got.header.Get("Retry-After") == "" || p.Record != nil || strings.Contains(got.text(), "dGhlcmU=") {
					t.Errorf("%s %s: %v %s", c.method, c.path, got.header, got.body)
				}
				if strings.HasPrefix(c.path, "/export") && (p.Key == nil || *p.Key != "a" || p.Section == nil || *p.Section != "items") {
					t.Errorf("the export names %s", got.body)
				}
			}
			var page holdfast.ExportPage
			k.ask(t, "GET", "/export?include=bodies&unavailable=mark", "").into(t, &page)
			if len(page.Records) != 2 {
				t.Fatalf("%d sections are exported", len(page.Records))
			}
			for _, e := range page.Records {
				missing := e.Section == "items"
				if (e.Unavailable != nil && *e.Unavailable) != missing || (e.Body == nil) != missing {
					t.Errorf("%s is marked %v, with the body %v", e.Section, e.Unavailable, e.Body)
				}
			}
			// All that needs no body is as ever.
			if got := k.ask(t, "GET", at("a"), ""); got.status != http.StatusOK {
				t.Errorf("the metadata: %d %s", got.status, got.body)
			}
			if got := k.ask(t, "HEAD", bodyAt("a", "items"), ""); got.status != http.StatusOK {
				t.Errorf("HEAD: %d", got.status)
			}
		})
	}
}
