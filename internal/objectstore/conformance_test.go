package objectstore_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
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
