package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// recorded is a GET by the tenant, and what takes its answer.
func recorded(target string) (*httptest.ResponseRecorder, *http.Request) {
	r := httptest.NewRequest("GET", target, nil)
	r.Header.Set("Authorization", "Bearer tenant")
	return httptest.NewRecorder(), r
}

const recordText = `{"collection":"orders","created_at":"2026-11-30T12:00:00Z","key":"a/1 \"sections\":{}","live":true,"revision":7,"sections":{` +
	`"closed":{"export_sequence":3,"length":0,"live":false,"producer":"tester","updated_at":"2026-11-30T12:00:00Z"},` +
	`"items":{"digest":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824","export_sequence":1,"length":5,"live":true,"producer":"tester","updated_at":"2026-11-30T12:00:00Z"},` +
	`"plans":{"digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","export_sequence":2,"length":0,"live":true,"producer":"tester","updated_at":"2026-11-30T12:00:00Z"}},` +
	`"updated_at":"2026-11-30T12:00:00Z"}`

func TestGetRecord_TellsATombstoneFromAnEmptyBody(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: orders("/records/a%2F1%20%25%3F")})
	if got := strings.TrimSpace(w.Body.String()); got != recordText || w.Header().Get("ETag") != `"7"` || a.records.got != "a/1 %?" {
		t.Errorf("asked %q: %v %s", a.records.got, w.Header(), got)
	}
	w = a.do(t, request{method: "GET", target: orders("/records/a?include=bodies")})
	want := strings.NewReplacer(
		`"producer":"tester","updated_at":"2026-11-30T12:00:00Z"},"plans"`, `"producer":"tester","updated_at":"2026-11-30T12:00:00Z","body":"aGVsbG8="},"plans"`,
		`"producer":"tester","updated_at":"2026-11-30T12:00:00Z"}},`, `"producer":"tester","updated_at":"2026-11-30T12:00:00Z","body":""}},`,
	).Replace(recordText)
	if got := w.Body.String(); got != want || w.Header().Get("ETag") != `"7"` || w.Header().Get("Content-Type") != mediaJSON {
		t.Errorf("%v %s, want %s", w.Header(), got, want)
	}
}

// A path is decoded once, whatever it holds.
func TestGetRecord_AKeyIsDecodedOnce(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for sent, want := range map[string]string{
		"a%25": "a%", "a%2525": "a%25", "a%252F": "a%2F", "a%2Fb": "a/b", "a+b": "a+b", "a%2Bb": "a+b", "%61": "a", "a,b": "a,b",
		"a;b=c": "a;b=c", "a%20b": "a b", "a:b": "a:b", "%C3%A9": "é", "*": "*", "~": "~", ";a": ";a", "a%2f..%2fb": "a/../b",
	} {
		if w := a.do(t, request{method: "GET", target: orders("/records/" + sent)}); w.Code != http.StatusOK || a.records.got != want {
			t.Errorf("%s is asked for as %q: %d", sent, a.records.got, w.Code)
		}
	}
}

func TestListRecords_ACursorIsOfItsCollectionAndFilter(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.list = record.RecordPage{More: true, Last: "k"}
	var page RecordPage
	w := a.do(t, request{method: "GET", target: orders("/records?live=false&limit=1")})
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.NextCursor == nil || page.Records == nil {
		t.Fatalf("no next_cursor on an empty page that isn't the last: %s", w.Body)
	}
	cursor := "cursor=" + url.QueryEscape(*page.NextCursor)
	no := false
	for target, want := range map[string]string{
		orders("/records?live=false&" + cursor):               "",
		"/v1/collections/ORDERS/records?live=false&" + cursor: "",
		orders("/records?live=true&" + cursor):                "cursor_invalid",
		orders("/records?" + cursor):                          "cursor_invalid",
		"/v1/collections/others/records?live=false&" + cursor: "cursor_invalid",
		"/v1/collections?" + cursor:                           "cursor_invalid",
	} {
		w := a.do(t, request{method: "GET", target: target})
		if want != "" {
			if p := problemIn(t, w); p.Code != want {
				t.Errorf("%s: %d %s", target, w.Code, p.Code)
			}
			continue
		}
		if diff := cmp.Diff(any(askedRecords{record.Filter{Live: &no}, askedPage{"k", 50}}), a.records.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", target, diff)
		}
	}
}

func TestCollections_AreMadeAndListed(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for body, want := range map[string]record.NewCollection{
		`{}`:                              {Name: "orders"},
		`{"bind_world":true}`:             {Name: "orders", BindWorld: true},
		`{"profile":{"primaries":["x"]}}`: {Name: "orders", Profile: &record.Profile{Primaries: []string{"x"}}},
		`{"profile":{"primaries":["x"],"companions":{"y":["x"]}}}`: {Name: "orders", Profile: &record.Profile{Primaries: []string{"x"}, Companions: map[string][]string{"y": {"x"}}}},
	} {
		w := a.do(t, request{method: "PUT", target: orders(""), body: body})
		status := http.StatusOK
		if want.BindWorld { // which the fake takes for a new one
			status = http.StatusCreated
		}
		if diff := cmp.Diff(any(want), a.records.got, cmpopts.EquateEmpty()); diff != "" || w.Code != status {
			t.Errorf("%s: %d %s (-want +got)\n%s", body, w.Code, w.Body, diff)
		}
	}
	var page CollectionPage
	if err := json.Unmarshal(a.do(t, request{method: "GET", target: "/v1/collections"}).Body.Bytes(), &page); err != nil || page.NextCursor == nil || page.Collections[0].Collection != "orders" {
		t.Fatalf("listed are %+v: %v", page, err)
	}
	a.do(t, request{method: "GET", target: "/v1/collections?limit=3&cursor=" + url.QueryEscape(*page.NextCursor)})
	if diff := cmp.Diff(any(askedPage{"orders", 3}), a.records.got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPublish_ManyHideWhatIsInternalAndSayTheRest(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.made = []record.Made{
		{Receipt: record.Receipt{OperationID: "o0", Key: "k0", Outcome: record.Superseded, At: verifiedAt, Replayed: true}},
		{Err: domain.PreconditionFailed("revision_stale", "Stale.").With("record", &a.records.record)},
		{Err: errors.New("password=secret")},
		{Err: domain.Unavailable("object_store_unavailable", "Later.").After(3 * time.Second)},
		{Err: domain.OutcomeUnknown("outcome_unknown", "Ask again.")},
		{Err: domain.Conflict("digest_mismatch", "Not so.").With("section", "items")},
	}
	var items []string
	for i := range a.records.made {
		items = append(items, `{"key":"k`+string(rune('0'+i))+`","operation_id":"o`+string(rune('0'+i))+`","if_absent":true,"sections":{"items":{"body":""}}}`)
	}
	w := a.do(t, request{method: "POST", target: orders("/publish"), body: `{"items":[` + strings.Join(items, ",") + `]}`})
	var results PublicationResults
	if err := json.Unmarshal(w.Body.Bytes(), &results); err != nil || len(results.Items) != len(items) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var told []string
	for _, r := range results.Items {
		line := r.Key + " " + r.Outcome
		if p := r.Problem; p != nil {
			line += " " + p.Code
			if p.RetryAfter != nil {
				line += " after " + string(rune('0'+*p.RetryAfter))
			}
		}
		told = append(told, line)
	}
	want := "k0 superseded\nk1 conflict revision_stale\nk2 failed internal\nk3 failed object_store_unavailable after 3\nk4 failed outcome_unknown after 1\nk5 conflict digest_mismatch"
	if got := strings.Join(told, "\n"); got != want || strings.Contains(w.Body.String(), "secret") || !strings.Contains(a.log.String(), "password=secret") {
		t.Errorf("told are\n%s\nin %s\nlog %s", got, w.Body, a.log)
	}
	if first, second, last := results.Items[0], results.Items[1], results.Items[5]; !*first.Replayed || first.Receipt.OperationID == nil ||
		second.Problem.Record.Revision != 7 || *last.Problem.Section != "items" {
		t.Errorf("%s", w.Body)
	}
}

// An item that the request's deadline cuts off may have been published: it says so,
// as the request would if it were the only one. And one that was given up is
// nobody's error.
func TestPublish_AnItemThatRunsIntoTheDeadlineIsUnknownBesideTheOthers(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.made = []record.Made{
		{Receipt: record.Receipt{OperationID: "o0", Key: "k0", Outcome: record.Published, At: verifiedAt}},
		{Err: fmt.Errorf("put an object: %w", context.DeadlineExceeded)},
		{Err: fmt.Errorf("put an object: %w", context.Canceled)},
	}
	w := a.do(t, request{method: "POST", target: orders("/publish"), body: `{"items":[{"key":"k0","operation_id":"o0"},{"key":"k1","operation_id":"o1"},{"key":"k2","operation_id":"o2"}]}`})
	var results PublicationResults
	if err := json.Unmarshal(w.Body.Bytes(), &results); err != nil || w.Code != http.StatusOK || len(results.Items) != 3 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	made, late, given := results.Items[0], results.Items[1], results.Items[2]
	if made.Outcome != "published" || late.Outcome != "failed" || late.Problem.Code != "outcome_unknown" ||
		late.Problem.RetryAfter == nil || *late.Problem.RetryAfter != 1 || given.Problem.Code != "internal" {
		t.Errorf("%s", w.Body)
	}
	if strings.Contains(a.log.String(), "put an object") {
		t.Errorf("the log has %s", a.log)
	}
}

// Clients obey Retry-After: it comes only where the same request can't do a thing
// twice.
func TestPublish_AnUnknownOutcomeInvitesWhoNamedTheOperation(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.err = domain.OutcomeUnknown("outcome_unknown", "Nobody knows.")
	for name, c := range map[string]struct {
		request
		want string
	}{
		"a publication":          {request{method: "PUT", target: orders("/records/a"), body: emptyPublication, headers: []string{"If-None-Match: *"}}, "1"},
		"a deletion under an id": {request{method: "DELETE", target: orders("/records/a"), headers: []string{`If-Match: "1"`, "Idempotency-Key: o"}}, "1"},
		"a deletion without":     {request{method: "DELETE", target: orders("/records/a"), headers: []string{`If-Match: "1"`}}, ""},
		"many publications":      {request{method: "POST", target: orders("/publish"), body: `{"items":[{"key":"a","operation_id":"o"}]}`}, "1"},
	} {
		if w := a.do(t, c.request); w.Header().Get("Retry-After") != c.want || problemIn(t, w).Code != "outcome_unknown" {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
	}
}

func TestDeleteRecord_AsksForTheRevisionUnderTheKey(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.receipt = record.Receipt{Key: "a", Outcome: record.Published, Revision: 8, At: verifiedAt, Replayed: true}
	for tag, revision := range map[string]int64{`"7"`: 7, `"x"`: -1, `W/"7"`: -1} {
		w := a.do(t, request{method: "DELETE", target: orders("/records/a"), headers: []string{"If-Match: " + tag, "Idempotency-Key: o"}})
		if diff := cmp.Diff(any(askedDeletion{"a", revision, "o"}), a.records.got); diff != "" || w.Header().Get("ETag") != `"8"` || w.Header().Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %v (-want +got)\n%s", tag, w.Header(), diff)
		}
		if want := `{"at":"2026-11-30T12:00:00Z","changes":[],"key":"a","outcome":"published","revision":8}`; strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s", w.Body)
		}
	}
}

func TestExport_LimitsAreMovedIntoBounds(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for query, want := range map[string]record.ExportRequest{
		"":                                 {Limit: 200},
		"?limit=0":                         {Limit: 1},
		"?limit=9223372036854775807":       {Limit: 200},
		"?limit=7&after=3&section=items":   {Limit: 7, After: 3, Section: "items"},
		"?include=bodies&unavailable=mark": {Limit: 200, Bodies: true, Mark: true},
	} {
		if w := a.do(t, request{method: "GET", target: orders("/export" + query)}); w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"export_sequence":0,"more":false,"next":0,"records":[]}` {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
		if diff := cmp.Diff(any(want), a.records.got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", query, diff)
		}
	}
}
