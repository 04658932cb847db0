package holdfast_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestConnect_RefusesAKeyWithoutShowingIt(t *testing.T) {
	t.Parallel()
	_, err := holdfast.Connect("https://holdfast.test", "hf_nothex_hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error is %v", err)
	}
}

func TestTokens_AreBoughtOnceAndRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{expires: 60, answer: func(_ int, w *httptest.ResponseRecorder) { account(w) }}
		client := connect(t, s)
		for _, pause := range []time.Duration{0, time.Second, 28 * time.Second, 2 * time.Second} {
			time.Sleep(pause)
			if _, err := client.GetAccountWithResponse(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"token-1", "token-1", "token-1", "token-2"}, s.tokens()); diff != "" {
			t.Errorf("tokens (-want +got):\n%s", diff)
		}
	})
}

func TestTokens_OneIsBoughtForManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) { account(w) }}
	client := connect(t, s)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := client.GetAccountWithResponse(t.Context(), "x"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.granted != 1 {
		t.Errorf("%d tokens were bought", s.granted)
	}
}

func TestTokens_ARefusedOneIsReplacedOnce(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(n int, w *httptest.ResponseRecorder) {
		if n != 2 {
			refuse(w, http.StatusUnauthorized, "token_revoked", "")
			return
		}
		account(w)
	}}
	client := connect(t, s)
	if _, err := client.GetAccountWithResponse(t.Context(), "x"); err != nil {
		t.Fatalf("with a fresh token: %v", err)
	}
	if _, err := client.GetAccountWithResponse(t.Context(), "x"); !holdfast.IsCode(err, "token_revoked") {
		t.Fatalf("refused again: %v", err)
	}
	if diff := cmp.Diff([]string{"token-1", "token-2", "token-2", "token-3"}, s.tokens()); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestTokens_ARefusedKeyIsAnErrorLikeOthers(t *testing.T) {
	t.Parallel()
	s := &service{grant: func(_ int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "r9")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":"invalid_client","error_description":"Unknown client."}`)
	}}
	_, err := connect(t, s).GetAccountWithResponse(t.Context(), "x")
	var e *holdfast.Error
	if !errors.As(err, &e) || e.Status != 401 || e.Code != "invalid_client" || e.Detail != "Unknown client." || e.RequestID != "r9" {
		t.Errorf("error is %v", err)
	}
	if s.granted != 1 {
		t.Errorf("asked %d times", s.granted)
	}
}

func TestBuyToken_GivesTheTokenAsItWasSold(t *testing.T) {
	t.Parallel()
	s := &service{grant: func(_ int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"t","token_type":"Bearer","expires_in":900,"scope":"identity:read"}`)
	}}
	got, err := holdfast.BuyToken(t.Context(), "https://holdfast.test/", testKey, holdfast.WithHTTPDoer(s))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(holdfast.Token{AccessToken: "t", TokenType: "Bearer", ExpiresIn: 900, Scope: "identity:read"}, got); diff != "" {
		t.Errorf("token (-want +got):\n%s", diff)
	}
}
