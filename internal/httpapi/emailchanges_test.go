package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

const changePath = accountPath + "/email-changes/00000000-0000-0000-0000-000000000002"

func TestBeginEmailChange_ShowsTheCodeOnce(t *testing.T) {
	t.Parallel()
	for key, again := range map[string]string{"k-1": "", "replayed": "true"} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "POST", target: accountPath + "/email-changes", body: `{"email":"New@example.com"}`, headers: []string{"Idempotency-Key: " + key}})
		want := `{"code":"12345678","email":"New@example.com","expires_at":"2026-11-30T12:00:00Z","id":"00000000-0000-0000-0000-000000000002"}`
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusCreated || got != want {
			t.Errorf("%d %s\nwant %s", w.Code, got, want)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Idempotent-Replayed") != again {
			t.Errorf("%s: headers are %v", key, w.Header())
		}
		asked := []any{knownAccount, identity.BeginEmailChange{Email: "New@example.com", IdempotencyKey: key}}
		if diff := cmp.Diff(any(asked), a.directory.got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

func TestGetEmailChange_ShowsAllButTheCode(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: accountPath + "/email-change", token: "reader"})
	want := `{"created_at":"2026-11-30T11:30:00Z","email":"New@example.com","expires_at":"2026-11-30T12:00:00Z","id":"00000000-0000-0000-0000-000000000002"}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
	if diff := cmp.Diff(any(knownAccount), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestConfirmEmailChange_AnswersTheAccountAsItIsNow(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "POST", target: changePath + "/confirm", body: `{"code":" 1234-5678 "}`})
	if w.Code != http.StatusOK || w.Header().Get("ETag") != `"7"` || !strings.Contains(w.Body.String(), `"email":"Ada@example.com"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if diff := cmp.Diff(any([]any{knownAccount, knownChange, " 1234-5678 "}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestCancelEmailChange_NamesAccountAndChange(t *testing.T) {
	t.Parallel()
	for target, change := range map[string]domain.EmailChangeID{
		changePath:                        knownChange,
		accountPath + "/email-changes/no": {}, // the domain judges the account first, and has no such change
	} {
		a := newTestAPI(t, testOptions{})
		if w := a.do(t, request{method: "DELETE", target: target}); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if diff := cmp.Diff(any([]any{knownAccount, change}), a.directory.got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

func TestRemoveEmail_TakesARevisionOrNone(t *testing.T) {
	t.Parallel()
	seven := int64(7)
	for header, revision := range map[string]*int64{"": nil, "*": nil, `"7"`: &seven} {
		a := newTestAPI(t, testOptions{})
		var headers []string
		if header != "" {
			headers = []string{"If-Match: " + header}
		}
		w := a.do(t, request{method: "DELETE", target: accountPath + "/email", headers: headers})
		if w.Code != http.StatusOK || w.Header().Get("ETag") != `"7"` {
			t.Errorf("%q: %d %v %s", header, w.Code, w.Header(), w.Body)
		}
		if diff := cmp.Diff(any([]any{knownAccount, revision}), a.directory.got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", header, diff)
		}
	}
}
