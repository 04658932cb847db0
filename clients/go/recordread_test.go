package holdfast_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestReadRecord_GivesBodiesThatAreVerified(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.bodies["plans"] = []byte{}
	record, err := holdfast.ReadRecord(t.Context(), s.client(t), "orders", "k")
	if err != nil || string(*record.Sections["items"].Body) != "hello" || len(*record.Sections["plans"].Body) != 0 {
		t.Errorf("%+v, %v", record, err)
	}
}

func TestReadRecord_WhatIsNotTheBodyIsNotGiven(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(string) string{
		"other bytes":    func(s string) string { return strings.Replace(s, "aGVsbG8", "amVsbG8", 1) },
		"fewer bytes":    func(s string) string { return strings.Replace(s, "aGVsbG8=", "aGVs", 1) },
		"another length": func(s string) string { return strings.Replace(s, `"length":5`, `"length":4`, 1) },
		"no body":        func(s string) string { return strings.Replace(s, `"body":"aGVsbG8=",`, "", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				s.goes = func(string, int) trouble {
					return trouble{spoil: func(w *httptest.ResponseRecorder) {
						text := spoil(w.Body.String())
						w.Body.Reset()
						w.Body.WriteString(text)
					}}
				}
				record, err := holdfast.ReadRecord(t.Context(), s.client(t), "orders", "k")
				var unverified *holdfast.UnverifiedBodyError
				if !errors.As(err, &unverified) || record.Sections != nil || unverified.Section != "items" || s.times("get") != 4 {
					t.Errorf("%+v, %v after %d tries", record, err, s.times("get"))
				}
			})
		})
	}
}

func TestBodyCopy_IsReplacedWhereTheBodyIsAnotherAndOnlyThen(t *testing.T) {
	t.Parallel()
	s := newShelf()
	client := s.client(t)
	kept, err := holdfast.ReadBody(t.Context(), client, "orders", "k", "items")
	if err != nil || string(kept.Bytes) != "hello" || kept.Digest != digest([]byte("hello")) {
		t.Fatalf("%+v, %v", kept, err)
	}
	if changed, err := kept.Refresh(t.Context(), client, "orders", "k", "items"); changed || err != nil || string(kept.Bytes) != "hello" {
		t.Errorf("changed %v to %+v, %v", changed, kept, err)
	}
	if tag := s.seen[1].Header.Get("If-None-Match"); tag != `"`+kept.Digest+`"` {
		t.Errorf("it asked with %q", tag)
	}
	for _, body := range []string{"other", "", "again"} {
		s.bodies["items"] = []byte(body)
		if changed, err := kept.Refresh(t.Context(), client, "orders", "k", "items"); !changed || err != nil || string(kept.Bytes) != body {
			t.Errorf("changed %v to %+v, %v", changed, kept, err)
		}
	}
}

func TestBodyCopy_StaysWhatItWasOnAnyError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble
		code string
	}{
		"unavailable":       {trouble{mishap: mishap{refuse: "body_unavailable", status: 503, after: "1"}}, "body_unavailable"},
		"deleted":           {trouble{mishap: mishap{refuse: "section_deleted", status: 410}}, "section_deleted"},
		"no answer":         {trouble{mishap: mishap{unsent: true}}, ""},
		"an answer's begin": {trouble{cut: 3}, ""},
		"other bytes":       {trouble{spoil: otherBytes}, ""},
		"no digest":         {trouble{spoil: func(w *httptest.ResponseRecorder) { w.Header().Del("ETag") }}, ""},
		"a proxy's":         {trouble{spoil: brokenProxy(true)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				s.goes = func(string, int) trouble { return c.trouble }
				kept := holdfast.BodyCopy{Bytes: []byte("mine"), Digest: digest([]byte("mine"))}
				changed, err := kept.Refresh(t.Context(), s.client(t), "orders", "k", "items")
				if err == nil || changed || string(kept.Bytes) != "mine" || kept.Digest != digest([]byte("mine")) || c.code != "" && !holdfast.IsCode(err, c.code) {
					t.Errorf("changed %v to %+v, %v", changed, kept, err)
				}
			})
		})
	}
}

func TestBodyCopy_WhatBreaksOffIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.goes = func(_ string, n int) trouble {
			return []trouble{{}, {cut: 2}, {spoil: otherBytes}, {mishap: mishap{lost: true}}, {}}[n]
		}
		kept, err := holdfast.ReadBody(t.Context(), s.client(t), "orders", "k", "items")
		if err != nil || string(kept.Bytes) != "hello" || s.times("body") != 4 {
			t.Errorf("%+v, %v after %d tries", kept, err, s.times("body"))
		}
	})
}

func TestBodyCopy_AWeakTagOfSomethingInBetweenIsReadToo(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.goes = func(string, int) trouble {
		return trouble{spoil: func(w *httptest.ResponseRecorder) { w.Header().Set("ETag", "W/"+w.Header().Get("ETag")) }}
	}
	if kept, err := holdfast.ReadBody(t.Context(), s.client(t), "orders", "k", "items"); err != nil || string(kept.Bytes) != "hello" {
		t.Errorf("%+v, %v", kept, err)
	}
}
