package holdfast_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// stored is a shelf with a body of some length, from which a test downloads.
func stored(inSQL bool) (*shelf, []byte) {
	s := newShelf()
	body := bytes.Repeat([]byte("0123456789"), 10_000)
	s.bodies["items"], s.inSQL = body, inSQL
	return s, body
}

// source is what a body comes from.
func source(inSQL bool) string {
	if inSQL {
		return "body"
	}
	return "store"
}

func TestDownloadBody_ComesFromTheStoreOrThroughTheAPIVerified(t *testing.T) {
	t.Parallel()
	for _, inSQL := range []bool{false, true} {
		for _, length := range []int{100_000, 0} {
			s, body := stored(inSQL)
			body = body[:length]
			s.bodies["items"] = body
			s.stores = func(r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					t.Error("the store was sent a token")
				}
			}
			var got bytes.Buffer
			digested, n, err := holdfast.DownloadBody(t.Context(), s.client(t), "orders", "k", "items", &got)
			if err != nil || digested != digest(body) || n != int64(length) || !bytes.Equal(got.Bytes(), body) || s.times(source(inSQL)) != 1 {
				t.Errorf("%d bytes of %s, %v", n, digested, err)
			}
		}
	}
}

func TestDownloadBody_GoesOnWhereItBrokeOff(t *testing.T) {
	t.Parallel()
	for _, inSQL := range []bool{false, true} {
		for name, wrong := range map[string]func(n int) trouble{
			"early":                func(int) trouble { return trouble{cut: 10_000} },
			"at the end":           func(int) trouble { return trouble{cut: 99_999} },
			"ranges are not known": func(n int) trouble { return trouble{cut: 10_000 * n, whole: true} },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s, body := stored(inSQL)
					s.goes = func(op string, n int) trouble {
						if op != source(inSQL) || n > 8 { // more often than the client tries
							return trouble{}
						}
						return wrong(n)
					}
					var got bytes.Buffer
					_, _, err := holdfast.DownloadBody(t.Context(), s.client(t), "orders", "k", "items", &got)
					if err != nil || !bytes.Equal(got.Bytes(), body) {
						t.Fatalf("%d bytes after %d tries, %v", got.Len(), s.times(source(inSQL)), err)
					}
				})
			})
		}
	}
}

func TestDownloadBody_WhatIsNotTheBodyIsAnError(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *httptest.ResponseRecorder){
		"other bytes": func(w *httptest.ResponseRecorder) { w.Body.Bytes()[99_999]++ },
		"more bytes":  func(w *httptest.ResponseRecorder) { w.Body.WriteString("more") },
	} {
		s, _ := stored(false)
		s.goes = func(op string, _ int) trouble {
			if op != "store" {
				return trouble{}
			}
			return trouble{spoil: spoil}
		}
		var got bytes.Buffer
		digested, _, err := holdfast.DownloadBody(t.Context(), s.client(t), "orders", "k", "items", &got)
		var unverified *holdfast.UnverifiedBodyError
		if !errors.As(err, &unverified) || digested != "" || unverified.Section != "items" || s.times("store") != 1 {
			t.Errorf("%s: %v after %d tries", name, err, s.times("store"))
		}
	}
}

func TestDownloadBody_ABodyThatIsReplacedMeanwhileIsAnError(t *testing.T) {
	t.Parallel()
	for _, inSQL := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, body := stored(inSQL)
			s.goes = func(op string, n int) trouble {
				if n == 2 { // when the first try broke off
					s.bodies["items"] = body[1:]
				}
				if op == source(inSQL) {
					return trouble{cut: 1000}
				}
				return trouble{}
			}
			_, _, err := holdfast.DownloadBody(t.Context(), s.client(t), "orders", "k", "items", &bytes.Buffer{})
			var unverified *holdfast.UnverifiedBodyError
			if !errors.As(err, &unverified) || !strings.Contains(err.Error(), "replaced") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestDownloadBody_ErrorsDoNotShowTheURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := stored(false)
		s.goes = func(op string, n int) trouble {
			switch {
			case op != "store":
				return trouble{}
			case n == 1:
				return trouble{mishap: mishap{refuse: "AccessDenied", status: 403}}
			default:
				return trouble{mishap: mishap{unsent: true}}
			}
		}
		client, err := holdfast.Connect("https://holdfast.test", testKey, holdfast.WithHTTPDoer(&http.Client{Transport: tripper{s}}))
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = holdfast.DownloadBody(t.Context(), client, "orders", "k", "items", &bytes.Buffer{})
		if !errors.Is(err, errNetwork) || strings.Contains(err.Error(), "secret") || s.times("store") != 4 {
			t.Errorf("%v after %d tries", err, s.times("store"))
		}
	})
}

// tripper lets a client of the standard library's go to a shelf.
type tripper struct{ s *shelf }

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t.s.Do(r) }

// full is a disk that takes so many bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	if len(p) > int(*f) {
		return 0, errFull
	}
	*f -= full(len(p))
	return len(p), nil
}

var errFull = errors.New("no space left")

func TestDownloadBody_AWriterThatFailsEndsIt(t *testing.T) {
	t.Parallel()
	s, _ := stored(false)
	room := full(50_000)
	if _, _, err := holdfast.DownloadBody(t.Context(), s.client(t), "orders", "k", "items", &room); !errors.Is(err, errFull) || s.times("store") != 1 {
		t.Errorf("%v after %d tries", err, s.times("store"))
	}
}

func TestSaveBody_TheFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	s, body := stored(false)
	path := filepath.Join(t.TempDir(), "items")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	alone := func(want []byte) {
		t.Helper()
		got, err := os.ReadFile(path)
		files, _ := os.ReadDir(filepath.Dir(path))
		if err != nil || !bytes.Equal(got, want) || len(files) != 1 {
			t.Errorf("the file has %d bytes, %v, among %d", len(got), err, len(files))
		}
	}
	s.goes = func(op string, _ int) trouble {
		if op != "store" {
			return trouble{}
		}
		return trouble{spoil: func(w *httptest.ResponseRecorder) { w.Body.Bytes()[0]++ }}
	}
	if _, err := holdfast.SaveBody(t.Context(), s.client(t), "orders", "k", "items", path); err == nil {
		t.Error("it was saved")
	}
	alone([]byte("mine"))
	s.goes = nil
	if saved, err := holdfast.SaveBody(t.Context(), s.client(t), "orders", "k", "items", path); err != nil || saved != digest(body) {
		t.Errorf("%s, %v", saved, err)
	}
	alone(body)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := holdfast.SaveBody(ended, s.client(t), "orders", "k", "items", path); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	alone(body)
}
