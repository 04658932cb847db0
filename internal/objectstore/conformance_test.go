package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestConformance is what any store must do for bodies to be safe in it. It runs
// against the development stack's, or against the bucket that
// HOLDFAST_TEST_BODIES_ENDPOINT and its like name.
func TestConformance(t *testing.T) {
	t.Parallel()
	promises := []struct {
		promise string
		test    func(t *testing.T, w way)
	}{
		{"bodies come back as they went", bodiesComeBack},
		{"a key may hold any characters", anyCharacters},
		{"an object is made once", objectIsMadeOnce},
		{"of many creators one uploads, and all are sure", manyCreators},
		{"wrong bytes at the key stop the work", wrongBytesStop},
		{"another digest or length than stored is corruption", otherDescriptorIsCorruption},
		{"what isn't there is missing", missingIsMissing},
		{"deleting is for all, gone ones too", deletes},
		{"lists in order, page by page", lists},
		{"a presigned URL gives an attachment", presigns},
		{"the store's refusals aren't repeated", refusalsStand},
		{"the store answers a probe", answersProbe},
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

func bodiesComeBack(t *testing.T, w way) {
	b := w.bed(t)
	for name, x := range map[string]body{
		"empty":                  b.body(nil),
		"one byte":               b.body([]byte{0}),
		"NUL and no known text":  b.body([]byte("\x00\xff\xfe{\"a\": NaN}\r\n")),
		"a chunk, exactly":       b.random(32 << 10),
		"a chunk and a byte":     b.random(32<<10 + 1),
		"larger than any buffer": b.random(2 << 20),
	} {
		if uploaded, err := b.ensure(t.Context(), x, false); err != nil || !uploaded {
			t.Errorf("%s: uploaded %t, %v", name, uploaded, err)
			continue
		}
		b.wantBody(t, x)
	}
}

func anyCharacters(t *testing.T, w way) {
	b := w.bed(t)
	for _, name := range []string{"with space", "a+b", "100%", "%41", "ü/日本", "a=b&c?d#e", "~!$'()*,;:@", `"<>\^{|}` + "`"} {
		x := b.random(10)
		x.key = b.prefix + name
		b.store(t, x)
		b.wantBody(t, x)
		objects, _, err := b.List(t.Context(), x.key, "", 2)
		if err != nil || len(objects) != 1 || objects[0].Key != x.key {
			t.Errorf("%q is listed as %v, %v", name, objects, err)
		}
	}
}

func objectIsMadeOnce(t *testing.T, w way) {
	b := w.bed(t)
	x := b.random(1000)
	for i, step := range []struct {
		likely, uploaded bool
		puts, gets       int
	}{
		{likely: true, uploaded: true, puts: 1, gets: 2}, // likely, and yet not there
		{likely: true, puts: 1, gets: 3},
		{likely: false, puts: 2, gets: 4}, // 412, and the same proof
	} {
		uploaded, err := b.ensure(t.Context(), x, step.likely)
		if err != nil || uploaded != step.uploaded {
			t.Errorf("step %d: uploaded %t, %v", i, uploaded, err)
		}
		if puts, gets := b.Count("PUT"), b.Count("GET"); puts != step.puts || gets != step.gets {
			t.Errorf("step %d: %d PUT and %d GET so far, want %d and %d", i, puts, gets, step.puts, step.gets)
		}
	}
}

func manyCreators(t *testing.T, w way) {
	b := w.bed(t)
	x := b.random(8 << 10)
	var uploads atomic.Int32
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			uploaded, err := b.ensure(t.Context(), x, false)
			if err != nil {
				t.Error(err)
			}
			if uploaded {
				uploads.Add(1)
			}
		})
	}
	all.Wait()
	if n := uploads.Load(); n != 1 {
		t.Errorf("%d uploaded it", n)
	}
	b.wantBody(t, x)
}

func wrongBytesStop(t *testing.T, w way) {
	for name, spoil := range map[string]func([]byte) []byte{
		"one bit":     func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"a byte less": func(b []byte) []byte { return b[:len(b)-1] },
		"a byte more": func(b []byte) []byte { return append(b, 0) },
		"nothing":     func([]byte) []byte { return nil },
	} {
		for _, likely := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, likely %t", name, likely), func(t *testing.T) {
				b := w.bed(t)
				right := b.random(100_000)
				wrong := b.body(spoil(bytes.Clone(right.bytes)))
				wrong.key = right.key
				b.store(t, wrong)

				before := len(b.Requests())
				uploaded, err := b.ensure(t.Context(), right, likely)
				wantCode(t, err, isCorrupt)
				if uploaded {
					t.Error("ensure says that it uploaded")
				}
				if n := len(b.Requests()) - before; likely && n != 1 || !likely && n != 2 {
					t.Errorf("%d requests: it was tried again", n)
				}
				_, err = b.fetch(t.Context(), right)
				wantCode(t, err, isCorrupt)
				b.wantBody(t, wrong) // never overwritten
				if !bytes.Contains(b.log.Bytes(), []byte(right.key)) || !bytes.Contains(b.log.Bytes(), []byte(`"level":"ERROR"`)) {
					t.Errorf("the log doesn't name the object: %s", &b.log)
				}
			})
		}
	}
}

func otherDescriptorIsCorruption(t *testing.T, w way) {
	b := w.bed(t)
	x := b.random(1000)
	b.store(t, x)
	for _, length := range []int64{0, 999, 1001} {
		_, err := b.Fetch(t.Context(), x.key, x.digest, length)
		wantCode(t, err, isCorrupt)
	}
	_, err := b.Fetch(t.Context(), x.key, [32]byte{}, 1000)
	wantCode(t, err, isCorrupt)
}

func missingIsMissing(t *testing.T, w way) {
	b := w.bed(t)
	_, err := b.fetch(t.Context(), b.random(10))
	wantCode(t, err, isMissing)
	if n := b.Count("GET"); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

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
