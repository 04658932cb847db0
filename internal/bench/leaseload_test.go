package bench

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestEntryMaker_IDsAreNeverUsedTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, maker := range newEntryMakers(2) {
		for _, n := range []int{1, 3} {
			var body struct {
				Entries []struct {
					ID      string `json:"entry_id"`
					Payload []byte `json:"payload"`
				} `json:"entries"`
			}
			if err := json.Unmarshal(maker.request(n), &body); err != nil {
				t.Fatal(err)
			}
			if len(body.Entries) != n {
				t.Fatalf("%d entries, want %d", len(body.Entries), n)
			}
			for _, entry := range body.Entries {
				if seen[entry.ID] || len(entry.ID) > 64 || len(entry.Payload) != payloadSize {
					t.Errorf("entry %q of %d bytes", entry.ID, len(entry.Payload))
				}
				seen[entry.ID] = true
			}
		}
	}
}

func TestWires_SendWholeRequests_AndDemandTheStatus(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/path" || r.Header.Get("Authorization") != "Bearer token" ||
			r.Header.Get("Holdfast-Lease") != "3.secret" || string(body) != `{"a":1}` {
			t.Errorf("%s %s %v %s", r.Method, r.URL, r.Header, body)
		}
		if served.Add(1) == 10 {
			w.WriteHeader(http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, strings.Repeat("answer", 1000))
	}))
	defer server.Close()
	c := newClient(server.URL, 1)
	c.token = "token"
	head := c.head(http.MethodPost, "/path", held{Epoch: 3, Secret: "secret"}.leaseHeader())
	_, err := c.overWires(t.Context(), 2, time.Minute, func(w *wire, _ int) error {
		err := w.call(head, []byte(`{"a":1}`), http.StatusCreated)
		if err == nil && w.answer.Len() != 6000 {
			t.Errorf("%d bytes were answered", w.answer.Len())
		}
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "answered 409") {
		t.Errorf("another status gave %v", err)
	}
	if n := served.Load(); n < 10 {
		t.Errorf("%d requests were served", n)
	}
}

func TestStream_AwaitsTheEventToItsEnd(t *testing.T) {
	t.Parallel()
	const events = ": alive\n\nid: 4\nevent: entry\ndata: {}\n\nid: 6\nevent: entry\ndata: {}\n\nid: 7\nevent: entry\n"
	s := &stream{in: bufio.NewReader(strings.NewReader(events))}
	if err := s.await(6); err != nil {
		t.Fatal(err)
	}
	if err := s.await(7); err == nil {
		t.Error("an event without its end was taken for seen")
	}
	s = &stream{in: bufio.NewReader(strings.NewReader(events))}
	if err := s.await(5); err == nil {
		t.Error("a stream that left an entry out was taken for good")
	}
}
