package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// I10, I12, I13: what can't be a key is refused, and the answer says where.
func TestKeys_WhatIsNoHandleOrAddressIsRefusedAtItsPlace(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	for _, c := range []struct{ handle, email, pointer string }{
		{"ada@example.com", "", "/handle"},
		{"\u212a", "", "/handle"}, // KELVIN SIGN, under the policy ascii
		{"-ada", "", "/handle"},
		{"ada/lovelace", "", "/handle"},
		{"root", "", "/handle"},
		{"ada", "a@xn--example-.com", "/email"},
		{"ada", "a@golang.org..", "/email"},
		{"ada", "a..b@x.com", "/email"},
		{"ada", strings.Repeat("a", 65) + "@x.com", "/email"},
		{"ada", `"a@b"@x.com`, "/email"},
		{"ada", "Name <a@b.com>", "/email"},
		{"ada", "a@b", "/email"},
		{"ada", "a@[127.0.0.1]", "/email"},
		{"ada", "adm\u0130n@x.com", "/email"},
	} {
		for _, verified := range []bool{true, false} {
			want := holdfast.NewAccount{Handle: c.handle}
			if c.email != "" {
				want.Email, want.EmailVerified = &c.email, &verified
			}
			_, err := client.CreateAccountWithResponse(t.Context(), nil, want)
			if !isStatus(err, http.StatusUnprocessableEntity) || pointerOf(err) != c.pointer {
				t.Errorf("%q %q: %v at %q", c.handle, c.email, err, pointerOf(err))
			}
		}
	}
	// Nothing of it is taken.
	if _, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "ada"}); err != nil {
		t.Error(err)
	}
}

func TestKeys_AnExpiryThatNoListCouldTellIsRefusedAtItsPlace(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t)
	c := s.tenant(t, r, "acme")
	operator := s.operator(t, r)
	beyond := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -(23*60+59)*60))
	for _, at := range []time.Time{{}, beyond} {
		_, err := operator.CreateAPIKeyWithResponse(t.Context(), c.id, c.principal, nil, holdfast.NewAPIKey{ExpiresAt: &at})
		if !holdfast.IsCode(err, "expires_at_invalid") || pointerOf(err) != "/expires_at" {
			t.Errorf("%v: %v at %q", at, err, pointerOf(err))
		}
	}
	if _, err := operator.ListAPIKeysWithResponse(t.Context(), c.id, c.principal, nil); err != nil {
		t.Error(err)
	}
}

// I11: two spellings, one key.
func TestKeys_TwoSpellingsOfAnAddressAreOne(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	for i, email := range []string{"a@bücher.de", "a@xn--bcher-kva.de", "A@BÜCHER.de"} {
		_, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{
			Handle: "user" + string(rune('0'+i)), Email: &email, EmailVerified: ptr(true),
		})
		if i == 0 && err != nil {
			t.Fatal(err)
		}
		if i > 0 && (!isStatus(err, http.StatusConflict) || pointerOf(err) != "/email") {
			t.Errorf("%s: %v at %q", email, err, pointerOf(err))
		}
		found, err := client.LookupAccountWithResponse(t.Context(), holdfast.LookupKey{Email: &email})
		if err != nil || found.JSON200.Handle != "user0" {
			t.Errorf("%s leads to %v, %v", email, found, err)
		}
	}
}
