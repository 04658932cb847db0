package objects

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const someRules = `<LifecycleConfiguration><Rule><Status>Enabled</Status></Rule></LifecycleConfiguration>`

// answering is a gateway that answers every call alike.
func answering(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-From", "gateway")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func call(h http.Handler, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader(body)))
	return w
}

func TestLifecycle_GatewaysRefusalStands(t *testing.T) {
	l := newLifecycle(answering(http.StatusForbidden, "wrong signature"))
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		w := call(l, method, "/bucket?lifecycle", someRules)
		if w.Code != http.StatusForbidden || w.Body.String() != "wrong signature" {
			t.Errorf("%s: %d %q, want the gateway's answer", method, w.Code, w.Body)
		}
	}
	if len(l.rules) != 0 {
		t.Errorf("rules were kept: %q", l.rules)
	}
}

func TestLifecycle_BucketsHaveTheirOwnRules(t *testing.T) {
	l := newLifecycle(answering(http.StatusNotImplemented, "not implemented"))
	if w := call(l, http.MethodPut, "/one?lifecycle", someRules); w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("put: %d %q", w.Code, w.Body)
	}
	w := call(l, http.MethodGet, "/one/?lifecycle=", "")
	if w.Code != http.StatusOK || w.Body.String() != someRules || w.Header().Get("X-From") != "" {
		t.Errorf("get: %d %q %v, want the rules and nothing of the gateway's", w.Code, w.Body, w.Header())
	}
	if w := call(l, http.MethodGet, "http://one.localhost:9000/?lifecycle", ""); w.Body.String() != someRules {
		t.Errorf("get by the host's name: %d %q, want the rules", w.Code, w.Body)
	}
	if w := call(l, http.MethodGet, "/two?lifecycle", ""); w.Code != http.StatusNotFound {
		t.Errorf("another bucket: %d %q, want none", w.Code, w.Body)
	}
}

func TestLifecycle_WhatIsNoConfiguration_IsRefused(t *testing.T) {
	l := newLifecycle(answering(http.StatusNotImplemented, ""))
	for name, body := range map[string]string{
		"nothing":       "",
		"no XML":        "rules",
		"another thing": "<Tagging></Tagging>",
		"no rules":      "<LifecycleConfiguration></LifecycleConfiguration>",
		"no status":     "<LifecycleConfiguration><Rule></Rule></LifecycleConfiguration>",
		"too large":     "<LifecycleConfiguration>" + strings.Repeat(" ", maxLifecycle),
	} {
		if w := call(l, http.MethodPut, "/bucket?lifecycle", body); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", name, w.Code)
		}
	}
}

func TestLifecycle_OtherCallsPass(t *testing.T) {
	l := newLifecycle(answering(http.StatusNotImplemented, "from the gateway"))
	for _, c := range []struct{ method, target string }{
		{http.MethodGet, "/bucket"},
		{http.MethodGet, "/?lifecycle"},
		{http.MethodGet, "/bucket/key?lifecycle"},
		{http.MethodGet, "http://bucket.localhost/key?lifecycle"},
		{http.MethodGet, "http://localhost/?lifecycle"},
		{http.MethodPost, "/bucket?lifecycle"},
		{http.MethodPut, "/bucket?tagging"},
	} {
		if w := call(l, c.method, c.target, ""); w.Body.String() != "from the gateway" {
			t.Errorf("%s %s: %d %q, want the gateway's answer", c.method, c.target, w.Code, w.Body)
		}
	}
}
