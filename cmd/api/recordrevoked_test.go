package main

import (
	"net/http"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// The key that bought a token is revoked while a body is on its way to the store:
// whoever holds the token publishes nothing any more.
func TestRecord_WhoseTokenIsRevokedMeanwhilePublishesNothing(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	operator := k.operator(t, k.api)
	key, err := operator.CreateAPIKeyWithResponse(t.Context(), k.owner.id, k.owner.principal, nil, holdfast.NewAPIKey{})
	if err != nil {
		t.Fatal(err)
	}
	leaked := *k
	leaked.token = k.buyToken(t, key.JSON201.APIKey)
	sending, known := make(chan struct{}), make(chan struct{})
	k.network.On("PUT", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		close(sending)
		<-known
		return pass()
	})
	answer := make(chan reply)
	go func() {
		answer <- leaked.ask(t, "PUT", at("a"), publication("o", map[string]string{"items": "hello"}), "If-None-Match: *")
	}()
	<-sending
	if _, err := operator.RevokeAPIKeyWithResponse(t.Context(), k.owner.id, key.JSON201.ID); err != nil {
		t.Error(err)
	}
	eventually(t, "the process knows of the revocation", func() bool {
		return leaked.ask(t, "GET", at("a"), "").status == http.StatusUnauthorized
	})
	close(known)
	got := <-answer
	got.expectProblem(t, http.StatusUnauthorized, "token_revoked")
	if challenge := got.header.Get("WWW-Authenticate"); !strings.Contains(challenge, "invalid_token") {
		t.Errorf("the challenge is %q", challenge)
	}
	k.ask(t, "GET", at("a"), "").expectProblem(t, http.StatusNotFound, "record_not_found")
	k.ask(t, "GET", "/receipts/o", "").expectProblem(t, http.StatusNotFound, "receipt_not_found")
	k.create(t, "a", map[string]string{"items": "hello"})
}
