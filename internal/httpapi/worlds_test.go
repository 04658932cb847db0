package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

const worldText = `{"advise_spill":true,"created_at":"2026-11-30T12:00:00Z","epoch":2,` +
	`"holder":{"issuer":"holdfast","subject":"node-1","type":"principal"},"position":17,"world_id":"north-7"}`

func TestCreateWorld_AdvisesUnlessItIsToldNotTo(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"world_id":"north-7"}`:                      true,
		`{"world_id":"north-7","advise_spill":true}`:  true,
		`{"world_id":"north-7","advise_spill":false}`: false,
	} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "POST", target: "/v1/worlds", body: body})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusCreated || got != worldText {
			t.Errorf("%s: %d %s", body, w.Code, got)
		}
		if diff := cmp.Diff(any(askedWorld{"north-7", lease.Policy{AdviseSpill: want}}), a.coordinator.got); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", body, diff)
		}
	}
}

func TestListWorlds_GoesOnBehindTheLastWorldForTheSameTenantOnly(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.coordinator.worlds = lease.WorldPage{Worlds: []lease.World{a.coordinator.world()}, More: true}
	var page WorldPage
	if err := json.Unmarshal(a.do(t, request{method: "GET", target: "/v1/worlds?limit=1"}).Body.Bytes(), &page); err != nil || page.NextCursor == nil {
		t.Fatalf("no next_cursor: %v", err)
	}
	target := "/v1/worlds?cursor=" + url.QueryEscape(*page.NextCursor)
	a.coordinator.worlds = lease.WorldPage{}
	w := a.do(t, request{method: "GET", target: target})
	if got := strings.TrimSpace(w.Body.String()); got != `{"worlds":[]}` {
		t.Errorf("the last page is %s", got)
	}
	if diff := cmp.Diff(any(askedPage{"north-7", 50}), a.coordinator.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if p := problemIn(t, a.do(t, request{method: "GET", target: target, token: "other"})); p.Code != "cursor_invalid" {
		t.Errorf("another tenant's cursor: %s", p.Code)
	}
}

func TestWorld_IsReadAndDeletedByItsID(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: "/v1/worlds/north-7"})
	if got := strings.TrimSpace(w.Body.String()); got != worldText || a.coordinator.got != "north-7" {
		t.Errorf("asked %v: %d %s", a.coordinator.got, w.Code, got)
	}
	w = a.do(t, request{method: "DELETE", target: "/v1/worlds/north-7"})
	if w.Code != http.StatusNoContent || w.Body.Len() != 0 || a.coordinator.got != "retire north-7" {
		t.Errorf("asked %v: %d %s", a.coordinator.got, w.Code, w.Body)
	}
}
