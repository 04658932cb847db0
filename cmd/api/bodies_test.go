package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestReady_ReportsTheObjectStoreAndServesWithoutIt(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	network := testkit.NewStoreFaults(t)
	r := s.serve(t, testkit.BodiesEnviron(network.Proxied(t, testkit.BodyStore(t)))...)
	for _, want := range []string{"ok", "failing", "ok"} {
		if want == "failing" {
			network.On(http.MethodHead, testkit.LostRequest())
		}
		status, body := fetch(t, r.url+"/readyz")
		if status != http.StatusOK || !strings.Contains(body, `{"name":"object_store","status":"`+want+`"}`) {
			t.Errorf("readyz is %d %s, want the object store %s", status, body, want)
		}
	}
	if _, metrics := fetch(t, "http://"+r.privateAddress(t)+"/metrics"); !strings.Contains(metrics, "holdfast_bodies_concurrency_limit 128") {
		t.Error("the metrics lack the object store's")
	}
}

func TestStart_AsksNothingOfTheObjectStore(t *testing.T) {
	t.Parallel()
	store := testkit.BodyStore(t)
	store.Endpoint = "http://127.0.0.1:1" // where nobody listens
	r := newStack(t, 1).serve(t, testkit.BodiesEnviron(store)...)
	if status, body := fetch(t, r.url+"/readyz"); status != http.StatusOK || !strings.Contains(body, `{"name":"object_store","status":"failing"}`) {
		t.Errorf("readyz is %d %s", status, body)
	}
}
