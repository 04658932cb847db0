package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const streamPath = journalPath + "/stream"

type followed struct {
	world string
	after int64
}

// Follow is only asked here: what it gives can't be made up.
func (f *fakeCoordinator) Follow(ctx context.Context, _ tenancy.Scope, world string, after int64) (*lease.Following, error) {
	return nil, f.called(ctx, followed{world, after})
}

func TestStream_BeginsBehindTheLastEventOrAfter(t *testing.T) {
	t.Parallel()
	for query, c := range map[string]struct {
		header string
		after  int64
	}{
		"":          {"", 0},
		"?after=7":  {"", 7},
		"?after=8":  {"Last-Event-ID: 9", 9},
		"?after=10": {"Last-Event-ID: 0", 0},
	} {
		a := newTestAPI(t, testOptions{})
		a.coordinator.err = domain.NotFound("world_not_found", "There is no such world.")
		q := request{method: "GET", target: streamPath + query}
		if c.header != "" {
			q.headers = []string{c.header}
		}
		w := a.do(t, q)
		if p := problemIn(t, w); w.Code != http.StatusNotFound || p.Code != "world_not_found" {
			t.Errorf("%s: %d %s", query, w.Code, p.Code)
		}
		if diff := cmp.Diff(any(followed{"north-7", c.after}), a.coordinator.got, cmp.AllowUnexported(followed{})); diff != "" {
			t.Errorf("%s %s: asked (-want +got):\n%s", query, c.header, diff)
		}
	}
}

func TestStream_RefusesAnEventIDThatIsNone(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"-1", "x", "01", "+1", "1.0", "1e3", " ", "9223372036854775808", "0x10", "1;2"} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "GET", target: streamPath, headers: []string{"Last-Event-ID: " + id}})
		if p := problemIn(t, w); w.Code != http.StatusBadRequest || p.Code != "last_event_id_malformed" || a.coordinator.got != nil {
			t.Errorf("%q: %d %s", id, w.Code, p.Code)
		}
	}
}

// step is what a followed journal gives next.
type step struct {
	entries []journal.Entry
	err     error
	do      func() // before that
}

type fakeFollowing struct {
	steps  []step
	closed bool
}

func (f *fakeFollowing) Next(ctx context.Context, _ time.Duration) ([]journal.Entry, error) {
	if len(f.steps) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	s := f.steps[0]
	f.steps = f.steps[1:]
	if s.do != nil {
		s.do()
	}
	return s.entries, s.err
}

func (f *fakeFollowing) Close() { f.closed = true }

// stream runs one over a followed journal, for a caller with a token of the
// tenant's.
func stream(t *testing.T, a *testAPI, tokens Tokens, j *journalStream, expires time.Time) (w *httptest.ResponseRecorder, code string, err error) {
	t.Helper()
	w = httptest.NewRecorder()
	c := &call{
		operation:     &operation{scope: "lease:read"},
		authorization: []string{"Bearer tenant"},
		scope:         tenancy.Scope{Expires: expires},
		connection:    connection{context.Background(), http.NewResponseController(w)},
	}
	j.server = &server{tokens: tokens, readiness: a.api.draining}
	j.ctx = withCall(t.Context(), c)
	err = j.VisitStreamJournalResponse(w)
	if !j.follow.(*fakeFollowing).closed {
		t.Error("the journal is followed for ever")
	}
	return w, c.code, err
}

var streamed = journal.Entry{
	Position: 18, Epoch: 2, Kind: journal.KindEntry, Actor: theNode, EntryID: "e", At: verifiedAt,
	Details: []byte(`{"format":"json"}`), Payload: []byte(`{"text":"a\nb"}`), Hash: theHash,
}

func TestStream_WritesEachEntryAsAnEvent(t *testing.T) {
	t.Parallel()
	next := streamed
	next.Position = 19
	j := &journalStream{follow: &fakeFollowing{steps: []step{
		{entries: []journal.Entry{streamed, next}}, {}, {err: domain.NotFound("world_not_found", "Gone.")},
	}}}
	w, code, err := stream(t, newTestAPI(t, testOptions{}), &fakeTokens{}, j, time.Time{})
	event := func(e *journal.Entry) string {
		return fmt.Sprintf("id: %d\nevent: entry\ndata: %s\n\n", e.Position, e.AppendJSON(nil))
	}
	retry, events, _ := strings.Cut(w.Body.String(), "\n\n")
	if want := event(&streamed) + event(&next) + ":\n\n"; events != want {
		t.Errorf("the stream has\n%swant\n%s", events, want)
	}
	if !regexp.MustCompile(`^retry: 1\d\d\d$`).MatchString(retry) {
		t.Errorf("it begins with %q", retry)
	}
	if h := w.Header(); err != nil || code != "world_not_found" || !w.Flushed || h.Get("Content-Type") != mediaEvents || h.Get("Cache-Control") != noStore {
		t.Errorf("%v %q %v", err, code, h)
	}
}

func TestStream_AsksForNothingForHead(t *testing.T) {
	t.Parallel()
	j := &journalStream{follow: &fakeFollowing{}, headers: true}
	if w, _, err := stream(t, newTestAPI(t, testOptions{}), &fakeTokens{}, j, time.Time{}); err != nil || w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("%v %d %q", err, w.Code, w.Body)
	}
}

// revocable knows a caller until that is revoked.
type revocable struct {
	fakeTokens
	revoked bool
}

func (r *revocable) Authenticate(ctx context.Context, token string) (tenancy.Scope, error) {
	if r.revoked {
		return tenancy.Scope{}, domain.Unauthenticated("token_revoked", "The token was revoked.")
	}
	return r.fakeTokens.Authenticate(ctx, token)
}

func TestStream_EndsWell(t *testing.T) {
	t.Parallel()
	for code, c := range map[string]struct {
		step    func(*testAPI, *revocable) step
		expires time.Time
	}{
		"token_expired": {expires: time.Now().Add(10 * time.Millisecond)},
		"draining":      {step: func(a *testAPI, _ *revocable) step { return step{do: a.api.Drain} }},
		"token_revoked": {
			step:    func(_ *testAPI, r *revocable) step { return step{do: func() { r.revoked = true }} },
			expires: time.Now().Add(time.Hour),
		},
		"database_unavailable": {step: func(*testAPI, *revocable) step {
			return step{err: domain.Unavailable("database_unavailable", "Down.")}
		}},
	} {
		a, tokens, follow := newTestAPI(t, testOptions{}), &revocable{}, &fakeFollowing{}
		if c.step != nil {
			follow.steps = []step{c.step(a, tokens)}
		}
		if _, got, err := stream(t, a, tokens, &journalStream{follow: follow}, c.expires); err != nil || got != code {
			t.Errorf("%s: it ended with %q, %v", code, got, err)
		}
	}
}

// A reader that takes nothing for the pause ends its stream, and holds one page up
// until then.
func TestStream_EndsWithAReaderThatTakesNothing(t *testing.T) {
	t.Parallel()
	large := streamed
	large.Payload = []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	follow := &fakeFollowing{}
	for range 100 { // more than any socket's buffers hold
		follow.steps = append(follow.steps, step{entries: []journal.Entry{large}})
	}
	ended := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{operation: &operation{scope: "lease:read"}, authorization: []string{"Bearer tenant"}}
		c.connection = connection{r.Context(), http.NewResponseController(w)}
		j := &journalStream{follow: follow, ctx: withCall(context.WithoutCancel(r.Context()), c)}
		j.server = &server{tokens: &fakeTokens{}, readiness: newReadiness(nil, nil), pause: 50 * time.Millisecond}
		if err := j.VisitStreamJournalResponse(w); err != nil {
			t.Error(err)
		}
		ended <- c.code
	}))
	defer s.Close()
	connected, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	if _, err := fmt.Fprint(connected, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != "connection_closed" || len(follow.steps) == 0 {
		t.Errorf("it ended with %q, and %d pages were left", code, len(follow.steps))
	}
}

// What must be looked into breaks the answer off and is logged.
func TestStream_ReportsWhatIsInternal(t *testing.T) {
	t.Parallel()
	broken := errors.New("a gap")
	j := &journalStream{follow: &fakeFollowing{steps: []step{{err: broken}}}}
	if _, _, err := stream(t, newTestAPI(t, testOptions{}), &fakeTokens{}, j, time.Time{}); !errors.Is(err, broken) {
		t.Errorf("it ended with %v", err)
	}
}
