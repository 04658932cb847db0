package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var clientsPath = "/v1/tenants/" + testTenant.String() + "/clients"

func TestCreateClient_HandsOutTheIDThatOAuthKnowsItBy(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{
		method: "POST", target: clientsPath, token: "operator", headers: []string{"Idempotency-Key: k-1"},
		body: `{"name":"tv","scopes":["play"],"verification_uri":"https://example.com/device"}`,
	})
	want := `{"created_at":"2026-11-30T12:00:00Z","disabled_at":null,"id":"hfc_ab000000000000000000000000000003","name":"tv",` +
		`"scopes":["play"],"verification_uri":"https://example.com/device"}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusCreated || got != want || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %v %s\nwant %s", w.Code, w.Header(), got, want)
	}
	asked := []any{testTenant, tenancy.NewClient{Name: "tv", Scopes: []string{"play"}, VerificationURI: "https://example.com/device", IdempotencyKey: "k-1"}}
	if diff := cmp.Diff(any(asked), a.store.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestListClients_GoesOnBehindTheLastName(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	var page PublicClientPage
	w := a.do(t, request{method: "GET", target: clientsPath + "?limit=1", token: "operator"})
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.NextCursor == nil || len(page.Clients) != 1 {
		t.Fatalf("%v %s", err, w.Body)
	}
	if got := page.Clients[0]; got.Scopes == nil || got.DisabledAt == nil || !got.DisabledAt.Equal(verifiedAt) {
		t.Errorf("client is %s", w.Body)
	}
	next := "?cursor=" + url.QueryEscape(*page.NextCursor)
	a.do(t, request{method: "GET", target: clientsPath + next, token: "operator"})
	if diff := cmp.Diff(any([]any{testTenant, tenancy.List[string]{After: "tv", Limit: 50}}), a.store.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	other := strings.Replace(clientsPath, testTenant.String(), otherTenant.String(), 1)
	if p := problemIn(t, a.do(t, request{method: "GET", target: other + next, token: "operator"})); p.Code != "cursor_invalid" {
		t.Errorf("for another tenant's clients: %s", p.Code)
	}
}

func TestDisableClient_TakesTheClientsOwnSpelling(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "DELETE", target: clientsPath + "/" + tenancy.ClientIDText(knownClient), token: "operator"})
	if w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if diff := cmp.Diff(any([]any{testTenant, knownClient}), a.store.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, id := range []string{knownClient.String(), "hfc_", "hfc_AB000000000000000000000000000003", "hf_ab000000000000000000000000000003"} {
		w := a.do(t, request{method: "DELETE", target: clientsPath + "/" + id, token: "operator"})
		if p := problemIn(t, w); w.Code != http.StatusNotFound || p.Code != "client_not_found" {
			t.Errorf("%s: %d %s", id, w.Code, p.Code)
		}
	}
}
