package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestClient_IsMadeAndListedAndStopped(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme")
	tv := told[holdfast.PublicClient](t, s, "client", "create", tenant.ID, "tv", "--verification-uri", "https://acme.example/device", "--scopes", "play,library:read")
	if diff := cmp.Diff(holdfast.PublicClient{
		ID: tv.ID, Name: "tv", Scopes: []string{"library:read", "play"}, VerificationURI: "https://acme.example/device", CreatedAt: tv.CreatedAt,
	}, tv); diff != "" || !strings.HasPrefix(tv.ID, "hfc_") {
		t.Errorf("the client (-want +got):\n%s", diff)
	}
	bare := told[holdfast.PublicClient](t, s, "client", "create", tenant.ID, "bare", "--verification-uri", "http://localhost:3000/device")
	if bare.Scopes == nil || len(bare.Scopes) != 0 {
		t.Errorf("without --scopes it may ask for %v", bare.Scopes)
	}
	if _, err := s.tokens.PublicClient(t.Context(), tv.ID); err != nil {
		t.Errorf("it can't call: %v", err)
	}

	if got := s.said(t, "client", "disable", tenant.ID, tv.ID); got != "It is disabled.\n" {
		t.Errorf("client disable says %q", got)
	}
	must(t, s.tokens.Poll(t.Context()))
	if _, err := s.tokens.PublicClient(t.Context(), tv.ID); err == nil {
		t.Error("it still can call")
	}
	disabled := map[string]bool{}
	for _, c := range told[[]holdfast.PublicClient](t, s, "client", "list", tenant.ID) {
		disabled[c.ID] = c.DisabledAt != nil
	}
	if diff := cmp.Diff(map[string]bool{bare.ID: false, tv.ID: true}, disabled); diff != "" {
		t.Errorf("disabled clients (-want +got):\n%s", diff)
	}
	if list := s.said(t, "client", "list", tenant.ID); !strings.Contains(list, "library:read,play  https://acme.example/device") {
		t.Errorf("client list says\n%s", list)
	}
}

func TestTenantCreate_Importing_ServesNobodyYet(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	for _, c := range []struct {
		state  string
		flags  []string
		status int // of a principal's list of accounts
	}{
		{"open", nil, http.StatusOK},
		{"importing", []string{"--importing"}, http.StatusForbidden},
	} {
		tenant := told[holdfast.Tenant](t, s, append([]string{"tenant", "create", c.state}, c.flags...)...)
		principal := told[holdfast.Principal](t, s, "principal", "create", tenant.ID, "backend", "--scopes", "identity:read")
		key := told[holdfast.CreatedAPIKey](t, s, "key", "create", tenant.ID, principal.ID)
		bought := execute(t, s.as(key.APIKey), "token")
		if bought.code != exitOK {
			t.Fatalf("token: %+v", bought)
		}
		if got := s.accounts(t, strings.TrimSpace(bought.stdout)); tenant.IdentityState != c.state || got != c.status {
			t.Errorf("%v: the namespace is %s, and accounts are answered with %d, want %s and %d", c.flags, tenant.IdentityState, got, c.state, c.status)
		}
	}
}
