package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestAdapter is what the adapter makes of a store and a network, good and bad.
func TestAdapter(t *testing.T) {
	t.Parallel()
	promises := []struct {
		promise string
		test    func(t *testing.T, w way)
	}{
		{"no request is made in vain", noRequestInVain},
		{"wrong bytes are named, and neither tried again nor overwritten", wrongBytesAreNamed},
		{"the store's refusals aren't repeated", refusalsStand},
		{"a probe is one request", probesOnce},
		{"each fault is overcome", overcomesFaults},
		{"each fault that stays is told", tellsLastingFaults},
		{"a context's end is told as such", contextEnds},
		{"a write is one SHA-256 in a header", writesAreChecked},
	}
	for _, w := range ways(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range promises {
				t.Run(p.promise, func(t *testing.T) {
					t.Parallel()
					p.test(t, w)
				})
			}
		})
	}
}

func noRequestInVain(t *testing.T, w way) {
	b := w.bed(t)
	x := b.random(1000)
	if _, err := b.fetch(t.Context(), x); err == nil || b.Count("GET") != 1 {
		t.Errorf("what isn't there was asked for %d times, %v", b.Count("GET"), err)
	}
	for i, step := range []struct {
		likely     bool
		puts, gets int
	}{
		{likely: true, puts: 1, gets: 3}, // likely, and yet not there
		{likely: true, puts: 1, gets: 4},
		{likely: false, puts: 2, gets: 5}, // 412, and the same proof
	} {
		if _, err := b.ensure(t.Context(), x, step.likely); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if puts, gets := b.Count("PUT"), b.Count("GET"); puts != step.puts || gets != step.gets {
			t.Errorf("step %d: %d PUT and %d GET so far, want %d and %d", i, puts, gets, step.puts, step.gets)
		}
	}
}

func wrongBytesAreNamed(t *testing.T, w way) {
	for _, likely := range []bool{true, false} {
		t.Run(fmt.Sprintf("likely %t", likely), func(t *testing.T) {
			b := w.bed(t)
			right := b.random(100_000)
			wrong := b.body(right.bytes[1:])
			wrong.key = right.key
			b.store(t, wrong)

			before := len(b.Requests())
			_, err := b.ensure(t.Context(), right, likely)
			wantCode(t, err, isCorrupt)
			if n := len(b.Requests()) - before; likely && n != 1 || !likely && n != 2 {
				t.Errorf("%d requests: it was tried again", n)
			}
			if !bytes.Contains(b.log.Bytes(), []byte(right.key)) || !bytes.Contains(b.log.Bytes(), []byte(`"level":"ERROR"`)) {
				t.Errorf("the log doesn't name the object: %s", &b.log)
			}
		})
	}
}

func refusalsStand(t *testing.T, w way) {
	b := w.bed(t, func(s *objectstore.Settings) { s.SecretKey = "wrong" })
	x := b.random(10)
	_, err := b.ensure(t.Context(), x, false)
	wantCode(t, err, isUnavailable)
	_, err = b.fetch(t.Context(), x)
	wantCode(t, err, isUnavailable)
	_, _, err = b.List(t.Context(), b.prefix, "", 1)
	wantCode(t, err, isUnavailable)
	wantCode(t, b.Delete(t.Context(), x.key), isUnavailable)
	_, err = b.Lifecycle(t.Context())
	wantCode(t, err, isUnavailable)
	wantCode(t, b.Probe(t.Context()), isUnavailable)
	if n := len(b.Requests()); n != 6 {
		t.Errorf("%d requests for six calls", n)
	}
}

func probesOnce(t *testing.T, w way) {
	b := w.bed(t)
	if err := b.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	b.On("HEAD", testkit.LostRequest(), testkit.Refuse(503, "SlowDown", 0))
	for range 2 {
		wantCode(t, b.Probe(t.Context()), isUnavailable)
	}
	if n := b.Count("HEAD"); n != 3 {
		t.Errorf("%d requests for three probes", n)
	}
}

func contextEnds(t *testing.T, w way) {
	b := w.bed(t)
	x := b.random(10)
	b.store(t, x)
	ctx, cancel := context.WithCancel(t.Context())
	leave := func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		cancel()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	b.On("GET", leave)
	if _, err := b.fetch(ctx, x); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch: %v", err)
	}
	if _, err := b.ensure(ctx, x, false); !errors.Is(err, context.Canceled) {
		t.Errorf("ensure: %v", err)
	}
	if n := b.Count("GET"); n != 2 {
		t.Errorf("%d GETs, want the store's own and the one that was left", n)
	}
}
