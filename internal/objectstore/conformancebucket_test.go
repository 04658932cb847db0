package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func deletes(t *testing.T, w way) {
	b := w.bed(t)
	var keys []string
	var bodies []body
	for range 40 {
		x := b.random(10)
		b.store(t, x)
		bodies, keys = append(bodies, x), append(keys, x.key)
	}
	if err := b.Delete(t.Context(), append(keys[1:], b.prefix+"never-was")...); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), keys[1:]...); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if err := b.Delete(t.Context()); err != nil {
		t.Errorf("nothing at all: %v", err)
	}
	b.wantBody(t, bodies[0])
	objects, _, err := b.List(t.Context(), b.prefix, "", 10)
	if err != nil || len(objects) != 1 || objects[0].Key != keys[0] {
		t.Errorf("left are %v, %v", objects, err)
	}
}

func lists(t *testing.T, w way) {
	b := w.bed(t)
	var want []string
	for i := range 7 {
		x := b.body(bytes.Repeat([]byte{byte(i)}, i))
		b.store(t, x)
		want = append(want, x.key)
	}
	slices.Sort(want)
	var got []string
	for after, more := "", true; more; {
		var page []objectstore.Object
		var err error
		if page, more, err = b.List(t.Context(), b.prefix, after, 3); err != nil {
			t.Fatal(err)
		}
		if len(page) != min(3, len(want)-len(got)) {
			t.Fatalf("a page of %d behind %d", len(page), len(got))
		}
		for _, o := range page {
			got = append(got, o.Key)
			after = o.Key
			if age := time.Since(o.ModifiedAt); age > time.Hour || age < -time.Hour {
				t.Errorf("%s was modified at %s", o.Key, o.ModifiedAt)
			}
			if o.Size < 0 || o.Size > 6 {
				t.Errorf("%s has %d bytes", o.Key, o.Size)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if page, more, err := b.List(t.Context(), b.prefix+"none", "", 3); err != nil || len(page) != 0 || more {
		t.Errorf("below nothing are %v, more %t, %v", page, more, err)
	}
}

func presigns(t *testing.T, w way) {
	b := w.bed(t)
	x := b.random(1000)
	b.store(t, x)
	url, err := b.Presign(t.Context(), x.key, "items.json", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: b.StoreFaults} // who knows the way, and no key
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !bytes.Equal(got, x.bytes) {
		t.Errorf("GET gives %d, %d bytes, %v: %.300s", answer.StatusCode, len(got), err, got)
	}
	for name, want := range map[string]string{"Content-Disposition": "attachment; filename=items.json", "Content-Type": "application/octet-stream"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
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

func answersProbe(t *testing.T, w way) {
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
