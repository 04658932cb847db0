package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var storagePath = "/v1/tenants/" + testTenant.String() + "/storage"

// fakeGuard finds what it is told to find, and counts how often it looked.
type fakeGuard struct {
	err    error
	looked int
}

func (f *fakeGuard) CheckStore(context.Context) error {
	f.looked++
	return f.err
}

func TestStorage_IsShown(t *testing.T) {
	t.Parallel()
	for format, want := range map[int16]string{1: `{"record_format":1}`, 2: `{"record_format":2}`} {
		a := newTestAPI(t, testOptions{})
		a.store.known = tenancy.Tenant{ID: testTenant, RecordFormat: format}
		w := a.do(t, request{method: "GET", target: storagePath, token: "operator"})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%d %s, want %s", w.Code, got, want)
		}
	}
}

func TestStorage_OfATenantThatIsNotThere_TheStoreIsNotLookedAt(t *testing.T) {
	t.Parallel()
	guard := &fakeGuard{}
	a := newTestAPI(t, testOptions{guard: guard})
	for _, q := range []request{{method: "GET"}, {method: "PUT", body: `{"record_format":1}`}, {method: "PUT", body: `{"record_format":2}`}} {
		q.target, q.token = storagePath, "operator"
		if p := problemIn(t, a.do(t, q)); p.Status != http.StatusNotFound || p.Code != "tenant_not_found" || guard.looked != 0 || a.store.format != 0 {
			t.Errorf("%s %s: %d %s, looked %d times, set %d", q.method, q.body, p.Status, p.Code, guard.looked, a.store.format)
		}
	}
}

func TestStorage_BodiesGoToTheObjectStoreOnlyWhenTheyAreSafeThere(t *testing.T) {
	t.Parallel()
	overlaps := domain.Conflict("lifecycle_overlaps", "A rule of the bucket could delete bodies.")
	unreadable := domain.Unavailable("lifecycle_unreadable", "The bucket's rules can't be read.")
	for name, c := range map[string]struct {
		is, set int16
		none    bool // no object store
		err     error
		looked  int
		status  int
		code    string
	}{
		"all is well":                     {is: 1, set: 2, looked: 1, status: http.StatusOK},
		"a rule overlaps":                 {is: 1, set: 2, err: overlaps, looked: 1, status: http.StatusConflict, code: "lifecycle_overlaps"},
		"the rules can't be read":         {is: 1, set: 2, err: unreadable, looked: 1, status: http.StatusServiceUnavailable, code: "lifecycle_unreadable"},
		"no object store":                 {is: 1, set: 2, none: true, status: http.StatusConflict, code: "object_store_missing"},
		"as it is, in SQL":                {is: 1, set: 1, err: overlaps, status: http.StatusOK},
		"as it is, without object store":  {is: 1, set: 1, none: true, status: http.StatusOK},
		"again, and a rule overlaps now":  {is: 2, set: 2, err: overlaps, status: http.StatusOK},
		"again, the object store is away": {is: 2, set: 2, none: true, status: http.StatusOK},
	} {
		guard := &fakeGuard{err: c.err}
		o := testOptions{guard: guard}
		if c.none {
			o.guard = nil
		}
		a := newTestAPI(t, o)
		a.store.known = tenancy.Tenant{ID: testTenant, RecordFormat: c.is}
		body := map[int16]string{1: `{"record_format":1}`, 2: `{"record_format":2}`}[c.set]
		w := a.do(t, request{method: "PUT", target: storagePath, body: body, token: "operator"})
		if w.Code != c.status || guard.looked != c.looked {
			t.Errorf("%s: %d %s, looked %d times", name, w.Code, w.Body, guard.looked)
			continue
		}
		if c.code != "" {
			if p := problemIn(t, w); p.Code != c.code || a.store.format != 0 {
				t.Errorf("%s: %s, and it was set to %d", name, p.Code, a.store.format)
			}
			continue
		}
		if a.store.format != c.set || w.Header().Get("ETag") != `"3"` || !strings.Contains(w.Body.String(), body[1:len(body)-1]) {
			t.Errorf("%s: set %d, answered %v %s", name, a.store.format, w.Header(), w.Body)
		}
	}
}

func TestStorage_WhatCantBeTakenBackIsAConflict(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.store.known, a.store.fixed = tenancy.Tenant{ID: testTenant, RecordFormat: 2}, true
	w := a.do(t, request{method: "PUT", target: storagePath, body: `{"record_format":1}`, token: "operator"})
	if p := problemIn(t, w); p.Status != http.StatusConflict || p.Code != "record_format_fixed" || a.store.format != 1 {
		t.Errorf("%d %s, set %d", p.Status, p.Code, a.store.format)
	}
}

func TestStorage_TakesAFormatThatThereIs(t *testing.T) {
	t.Parallel()
	guard := &fakeGuard{}
	a := newTestAPI(t, testOptions{guard: guard})
	a.store.known = tenancy.Tenant{ID: testTenant, RecordFormat: 1}
	for _, body := range []string{
		`{"record_format":0}`, `{"record_format":3}`, `{"record_format":-1}`, `{"record_format":65537}`, `{"record_format":65538}`,
		`{"record_format":"2"}`, `{"record_format":1.5}`, `{"record_format":null}`, `{}`, `{"record_format":2,"force":true}`, `2`,
	} {
		w := a.do(t, request{method: "PUT", target: storagePath, body: body, token: "operator"})
		if p := problemIn(t, w); p.Status < 400 || p.Status >= 500 || a.store.format != 0 || guard.looked != 0 {
			t.Errorf("%s: %d %s, set %d, looked %d times", body, p.Status, p.Code, a.store.format, guard.looked)
		}
	}
}
