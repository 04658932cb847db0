package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// Keys are what they are: whatever a path does to other text, it is told apart.
var exactKeys = []string{
	"a", "A", "a/b", "a%2Fb", "a%252Fb", "a//b", "/a", "a/", "%", "%25", "a b", " a", "a ", "a+b", "a%20b", "?", "a?b=c", "#", "a#b",
	"&", "=", ";", ":", "@", "$", ",", "a,b", "!", "'", "(", ")", "*", "~", `"`, "<", ">", `\`, "^", "`", "{key}", "|", "é", "e\u0301", "日本",
	"\U0001F511", "\u202e", "\n", "\x7f", "...", "a/../b", "./a", "sections", "a/sections/items/body", "\ufeff", "\ufffd",
	strings.Repeat("é", 250), strings.Repeat("%", 500),
}

func TestKey_IsExactAnyText(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	client := connect(t, k.api, k.owner.key)
	want := map[string]bool{}
	for i, key := range exactKeys {
		k.create(t, key, map[string]string{"items": key})
		want[key] = true
		if got := k.ask(t, "GET", bodyAt(key, "items"), ""); got.text() != key {
			t.Errorf("%q: read %d %q", key, got.status, got.body)
		}
		// As the generated client escapes it.
		read, err := client.GetRecordWithResponse(t.Context(), "orders", key, nil)
		if err != nil || read.JSON200.Key != key || read.JSON200.Revision != 1 {
			t.Errorf("%q is read by the client with %v", key, err)
		}
		if i%7 == 0 { // escaped more than it must be
			everything := ""
			for _, b := range []byte(key) {
				everything += "%" + string("0123456789abcdef"[b>>4]) + string("0123456789abcdef"[b&15])
			}
			if got := k.ask(t, "GET", "/records/"+everything, ""); got.status != http.StatusOK {
				t.Errorf("%q as %s: %d %s", key, everything, got.status, got.body)
			}
		}
	}
	got := map[string]bool{}
	next := ""
	for {
		var page holdfast.RecordPage
		k.ask(t, "GET", "/records?limit=10"+next, "").into(t, &page)
		for _, r := range page.Records {
			if got[r.Key] {
				t.Errorf("%q is listed twice", r.Key)
			}
			got[r.Key] = true
		}
		if page.NextCursor == nil {
			break
		}
		next = "&cursor=" + url.QueryEscape(*page.NextCursor)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func TestKey_WhatCannotBeOneNamesNothing(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	for name, key := range map[string]string{
		"NUL": "%00", "invalid UTF-8": "a%ff", "half a rune": "%e2%82", "501 bytes": strings.Repeat("a", 501), "a dot": "%2e", "two dots": "%2e%2e",
	} {
		for _, path := range []string{"/records/" + key, "/records/" + key + "/sections/items/body"} {
			if got := k.ask(t, "GET", path, ""); got.problem(t).Code != "record_not_found" {
				t.Errorf("%s: %s: %d %s", name, path, got.status, got.body)
			}
		}
		got := k.ask(t, "PUT", "/records/"+key, publication("o", map[string]string{"items": "x"}), "If-None-Match: *")
		if got.problem(t).Code != "item_key_invalid" {
			t.Errorf("%s is published: %d %s", name, got.status, got.body)
		}
	}
}

// R19: mixed-case names are of one collection.
func TestCollection_NamesAreFolded(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "a", map[string]string{"items": "one"})
		var first, other holdfast.Collection
		k.ask(t, "GET", "", "").into(t, &first)
		for _, name := range []string{"Orders", "ORDERS", "oRdErS"} {
			target := k.api.url + "/v1/collections/" + name
			again := k.send(t, "PUT", target, []byte(`{}`), "Content-Type: application/json")
			again.into(t, &other)
			if diff := cmp.Diff(first, other); diff != "" || again.status != http.StatusOK {
				t.Errorf("%s: %d (-want +got)\n%s", name, again.status, diff)
			}
			if read := k.send(t, "GET", target+bodyAt("a", "items"), nil); read.text() != "one" {
				t.Errorf("%s has %d %s", name, read.status, read.body)
			}
		}
		var page holdfast.CollectionPage
		k.send(t, "GET", k.api.url+"/v1/collections", nil).into(t, &page)
		if len(page.Collections) != 1 {
			t.Errorf("%d collections are listed", len(page.Collections))
		}
		if got := k.send(t, "PUT", k.api.url+"/v1/collections/a%20b", []byte(`{}`), "Content-Type: application/json"); got.problem(t).Code != "collection_name_invalid" {
			t.Errorf("a name with a space: %d %s", got.status, got.body)
		}
	})
}
