package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// eventStream reads a world's journal as server-sent events.
type eventStream struct {
	body  io.ReadCloser
	lines *bufio.Scanner
}

type event struct{ id, kind, data string }

// stream reads at a process, behind the event with an id, "" for the start.
func (p *player) stream(t testing.TB, at *running, world, lastID string) *eventStream {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", at.url+"/v1/worlds/"+world+"/journal/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	if lastID != "" {
		request.Header.Set("Last-Event-ID", lastID)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the stream is answered with %d", response.StatusCode)
	}
	return &eventStream{response.Body, bufio.NewScanner(response.Body)}
}

// next gives the next event. It is false when the stream has ended, and as it
// should.
func (s *eventStream) next(t testing.TB) (e event, ok bool) {
	t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.id != "" {
				return e, true
			}
		}
	}
	if err := s.lines.Err(); err != nil {
		t.Errorf("the stream broke off: %v", err)
	}
	return event{}, false
}

// L16 through the API: a reader at another process, which connects again and again,
// gets each entry once, as the journal gives it.
func TestStream_AReaderThatReconnectsGetsEachEntryOnce(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	writing, reading := s.serve(t), s.serve(t)
	p := s.player(t, writing, s.tenant(t, writing, "acme").id, "writer")
	if _, err := p.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: "arena"}); err != nil {
		t.Fatal(err)
	}
	const writes = 20
	wrote := make(chan error, 1)
	go func() {
		for i := range writes {
			if _, err := p.write(t, "arena", fmt.Sprint("e-", i), `{"n":1}`, nil); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	var got []event
	for len(got) < 1+writes {
		last := ""
		if n := len(got); n > 0 {
			last = got[n-1].id
		}
		stream := p.stream(t, reading, "arena", last)
		for range 6 {
			if e, ok := stream.next(t); ok {
				got = append(got, e)
			}
			if len(got) == 1+writes {
				break
			}
		}
		stream.body.Close()
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	_, entries := p.replay(t, "arena")
	if len(entries) != len(got) {
		t.Fatalf("%d entries, %d events", len(entries), len(got))
	}
	for i := range entries {
		e := &entries[i]
		if want := (event{fmt.Sprint(e.Position), string(e.Kind), string(e.AppendJSON(nil))}); got[i] != want {
			t.Errorf("an event is\n%+v, want\n%+v", got[i], want)
		}
	}
}

// A drain ends the streams and waits for none of them, and their readers see no
// broken connection.
func TestStream_EndsWhenTheServerDrains(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	p := s.player(t, r, s.tenant(t, r, "acme").id, "reader")
	if _, err := p.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: "arena"}); err != nil {
		t.Fatal(err)
	}
	stream := p.stream(t, r, "arena", "")
	if e, ok := stream.next(t); !ok || e.kind != "world_created" {
		t.Fatalf("it begins with %+v", e)
	}
	began := time.Now()
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	if e, ok := stream.next(t); ok {
		t.Errorf("the drain gave %+v", e)
	}
	if err := <-stopped; err != nil || time.Since(began) > heartbeatOfStreams {
		t.Errorf("after %v the drain came to %v", time.Since(began), err)
	}
}

// heartbeatOfStreams is by when a stream would have noticed a drain without being
// told of it.
const heartbeatOfStreams = 15 * time.Second

func TestStream_HeadHasAnEnd(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	p := s.player(t, r, s.tenant(t, r, "acme").id, "reader")
	if _, err := p.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: "arena"}); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), "HEAD", r.url+"/v1/worlds/arena/journal/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != mediaEvents {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
}
