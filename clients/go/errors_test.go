package holdfast_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestErrors_AreProblemsWithAType(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, `{"type":"urn:holdfast:problem:email_taken","title":"Conflict","status":409,"code":"email_taken",`+
			`"detail":"It is in use.","request_id":"r1","errors":[{"pointer":"/email","code":"email_taken"}]}`)
	}}
	_, err := connect(t, s).CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "ada"})
	want := &holdfast.Error{Problem: holdfast.Problem{
		Type: "urn:holdfast:problem:email_taken", Title: "Conflict", Status: 409, Code: "email_taken", Detail: "It is in use.",
		RequestID: "r1", Errors: &[]holdfast.FieldError{{Pointer: "/email", Code: "email_taken"}},
	}}
	var got *holdfast.Error
	if !errors.As(err, &got) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if !holdfast.IsCode(err, "email_taken") || holdfast.IsCode(err, "handle_taken") || holdfast.IsCode(nil, "email_taken") {
		t.Error("IsCode is wrong")
	}
}

func TestErrors_FromSomethingInBetweenHaveAStatusOnly(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) {
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html>bad gateway</html>")
	}}
	_, err := connect(t, s).GetAccountWithResponse(t.Context(), "x")
	var e *holdfast.Error
	if !errors.As(err, &e) || e.Status != 502 || e.Code != "" {
		t.Errorf("error is %v", err)
	}
}
