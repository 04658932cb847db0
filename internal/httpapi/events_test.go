package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func theEvent(actor identity.Actor) identity.Event {
	return identity.Event{
		Number: 7, Sequence: 12, Family: domain.FamilyAccount, Record: domain.RecordID(knownAccount), Revision: 300,
		Kind: identity.AccountChanged, Actor: actor, At: verifiedAt,
	}
}

func TestEvents_TellWhoInTheSpellingThatTheAPIHas(t *testing.T) {
	t.Parallel()
	for actor, want := range map[identity.Actor]string{
		{Kind: identity.ActorPrincipal, ID: domain.RecordID{15: 1}}:    `{"id":"00000000-0000-0000-0000-000000000001","kind":"principal"}`,
		{Kind: identity.ActorClient, ID: domain.RecordID(knownClient)}: `{"id":"hfc_ab000000000000000000000000000003","kind":"client"}`,
		{Kind: identity.ActorHoldfast}:                                 `{"id":null,"kind":"holdfast"}`,
	} {
		a := newTestAPI(t, testOptions{})
		a.directory.history = identity.EventPage{Events: []identity.Event{theEvent(actor)}}
		w := a.do(t, request{method: "GET", target: accountPath + "/events"})
		want := `{"events":[{"actor":` + want + `,"at":"2026-11-30T12:00:00Z","family":"account","fields":[],"kind":"account.changed",` +
			`"record_id":"01930000-0000-0000-0000-000000000001","revision":300}]}`
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%d %s\nwant %s", w.Code, got, want)
		}
	}
}

func TestListAccountEvents_GoesOnBehindTheLastRevisionOfThisAccount(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.history = identity.EventPage{Events: []identity.Event{theEvent(identity.Actor{})}, More: true}
	var page EventPage
	w := a.do(t, request{method: "GET", target: accountPath + "/events?limit=1"})
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.NextCursor == nil {
		t.Fatalf("no next_cursor: %v %s", err, w.Body)
	}
	if diff := cmp.Diff(any([]any{knownAccount, int64(0), 1}), a.directory.got); diff != "" {
		t.Errorf("asked first (-want +got):\n%s", diff)
	}
	next := "?cursor=" + url.QueryEscape(*page.NextCursor)
	a.do(t, request{method: "GET", target: accountPath + "/events" + next})
	if diff := cmp.Diff(any([]any{knownAccount, int64(300), 50}), a.directory.got); diff != "" {
		t.Errorf("asked then (-want +got):\n%s", diff)
	}
	other := strings.Replace(accountPath, "01930000", "01930001", 1)
	for name, q := range map[string]request{
		"another account's": {method: "GET", target: other + "/events" + next},
		"another tenant's":  {method: "GET", target: accountPath + "/events" + next, token: "other"},
		"the feed's":        {method: "GET", target: "/v1/identity/events" + next},
	} {
		if p := problemIn(t, a.do(t, q)); p.Code != "cursor_invalid" {
			t.Errorf("for %s: %d %s", name, p.Status, p.Code)
		}
	}
}

func TestListEvents_AlwaysSaysWhereTheFeedGoesOn(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.feed.Next = identity.FeedPosition{0: 5, 63: 1 << 40}
	for _, more := range []bool{false, true} {
		a.directory.feed.More = more
		var feed Feed
		w := a.do(t, request{method: "GET", target: "/v1/identity/events"})
		if err := json.Unmarshal(w.Body.Bytes(), &feed); err != nil || feed.NextCursor == "" || feed.More != more || feed.Events == nil {
			t.Fatalf("%v %s", err, w.Body)
		}
		if diff := cmp.Diff(any([]any{identity.FeedPosition{}, 50}), a.directory.got); diff != "" {
			t.Errorf("asked first (-want +got):\n%s", diff)
		}
		a.do(t, request{method: "GET", target: "/v1/identity/events?limit=7&cursor=" + url.QueryEscape(feed.NextCursor)})
		if diff := cmp.Diff(any([]any{a.directory.feed.Next, 7}), a.directory.got); diff != "" {
			t.Errorf("asked then (-want +got):\n%s", diff)
		}
		w = a.do(t, request{method: "GET", target: "/v1/identity/events?cursor=" + url.QueryEscape(feed.NextCursor), token: "other"})
		if p := problemIn(t, w); p.Code != "cursor_invalid" {
			t.Errorf("another tenant's cursor: %d %s", p.Status, p.Code)
		}
	}
}

func TestFeedPosition_RoundTripsAndTakesNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p identity.FeedPosition
		for n := range p {
			p[n] = rapid.Int64Min(0).Draw(t, "sequence")
		}
		text := formatFeedPosition(p)
		if got, err := parseFeedPosition(text); err != nil || got != p {
			t.Fatalf("%v comes back as %v, %v", p, got, err)
		}
		cut := rapid.IntRange(0, len(text)-1).Draw(t, "cut")
		for _, other := range [][]byte{text[:cut], append(text, 0)} {
			if _, err := parseFeedPosition(other); domain.CodeOf(err) != "cursor_invalid" {
				t.Fatalf("%x: %v", other, err)
			}
		}
	})
}
