package objectstore_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// overcomesFaults: what passes by itself is waited for, and the proof is the same
// as ever.
func overcomesFaults(t *testing.T, w way) {
	type faults = []testkit.Fault
	var (
		none      testkit.Fault
		conflict  = testkit.Refuse(409, "ConditionalRequestConflict", 0)
		tooMany   = testkit.Refuse(429, "TooManyRequests", time.Second)
		slowDown  = testkit.Refuse(503, "SlowDown", 0)
		badDigest = testkit.Refuse(400, "BadDigest", 0)
	)
	for name, f := range map[string]struct {
		put, get faults
		there    bool // the object is there already
		waits    bool // for seconds
		uploaded bool
	}{
		"the answer to the upload is lost":        {put: faults{testkit.LostAnswer()}, uploaded: true},
		"the upload is lost":                      {put: faults{testkit.LostRequest()}, uploaded: true},
		"the upload is lost, and then its answer": {put: faults{testkit.LostRequest(), testkit.LostAnswer()}, uploaded: true},
		"a gateway's error behind a good upload":  {put: faults{testkit.RefuseAfter(502, "BadGateway")}, uploaded: true},
		"an internal error behind a good upload":  {put: faults{testkit.RefuseAfter(500, "InternalError")}, uploaded: true},
		"no answer to the upload":                 {put: faults{testkit.Hang()}, uploaded: true, waits: true},
		"the answer is lost, and the first proof": {put: faults{testkit.LostAnswer()}, get: faults{testkit.LostAnswer()}, uploaded: true},
		"409 once":                                         {put: faults{conflict}, uploaded: true},
		"409, and then it is there":                        {put: faults{conflict}, there: true},
		"429 with Retry-After":                             {put: faults{tooMany}, uploaded: true, waits: true},
		"503 twice":                                        {put: faults{slowDown, slowDown}, uploaded: true},
		"bytes spoilt on their way there":                  {put: faults{badDigest}, uploaded: true},
		"a slow upload":                                    {put: faults{testkit.Slow(50 * time.Millisecond)}, uploaded: true},
		"the proof is cut at 60 %":                         {get: faults{testkit.CutAt(0.6)}, uploaded: true},
		"the proof is cut at its very begin":               {get: faults{testkit.CutAt(0)}, uploaded: true},
		"the proof ends early, without an error":           {get: faults{testkit.ShortAnswer(0.6)}, uploaded: true},
		"the proof is empty, without an error":             {get: faults{testkit.ShortAnswer(0)}, uploaded: true},
		"no answer to the proof":                           {get: faults{testkit.Hang()}, uploaded: true},
		"429 on the proof":                                 {get: faults{tooMany}, uploaded: true},
		"503 on the proof":                                 {get: faults{slowDown}, uploaded: true},
		"503 on the first look, and on the next":           {get: faults{slowDown, none, slowDown}, uploaded: true},
		"the proof of what is there is cut at 60 %":        {get: faults{testkit.CutAt(0.6)}, there: true},
		"the answer is lost of an upload that was refused": {put: faults{testkit.LostAnswer()}, there: true, uploaded: true}, // taken as ours: nobody can know
	} {
		for _, likely := range []bool{false, true} {
			if likely && (f.there || f.waits) && len(f.put) > 0 {
				continue // no upload is made, or nothing new is learnt from the wait
			}
			t.Run(name+map[bool]string{true: ", likely"}[likely], func(t *testing.T) {
				t.Parallel()
				b := w.bed(t, impatient)
				x := b.random(200_000)
				if f.there {
					b.store(t, x)
				}
				b.On(http.MethodPut, f.put...)
				b.On(http.MethodGet, f.get...)
				uploaded, err := b.ensure(t.Context(), x, likely)
				if err != nil || uploaded != f.uploaded {
					t.Errorf("uploaded %t, %v; want %t", uploaded, err, f.uploaded)
				}
				b.wantBody(t, x)
			})
		}
	}
}

// tellsLastingFaults: no fault of the store's ever passes for a missing object, or
// for a good one.
func tellsLastingFaults(t *testing.T, w way) {
	for name, f := range map[string]struct {
		fault testkit.Fault
		code  string
		tries int
	}{
		"cut at 60 %":             {testkit.CutAt(0.6), isUnavailable, 3},
		"short without an error":  {testkit.ShortAnswer(0.6), isUnavailable, 3},
		"empty without an error":  {testkit.ShortAnswer(0), isUnavailable, 3},
		"the answer is lost":      {testkit.LostAnswer(), isUnavailable, 3},
		"429":                     {testkit.Refuse(429, "TooManyRequests", 0), isUnavailable, 3},
		"503":                     {testkit.Refuse(503, "SlowDown", 0), isUnavailable, 3},
		"500":                     {testkit.Refuse(500, "InternalError", 0), isUnavailable, 3},
		"no answer":               {testkit.Hang(), isUnavailable, 3},
		"a redirect":              {testkit.Refuse(307, "TemporaryRedirect", 0), isUnavailable, 3},
		"403":                     {testkit.Refuse(403, "AccessDenied", 0), isUnavailable, 1},
		"404 of the bucket":       {testkit.Refuse(404, "NoSuchBucket", 0), isUnavailable, 1},
		"404 of somebody else":    {testkit.Refuse(404, "", 0), isUnavailable, 1},
		"416":                     {testkit.Refuse(416, "InvalidRange", 0), isUnavailable, 1},
		"wrong bytes":             {testkit.WrongBytes(), isCorrupt, 1},
		"a byte more":             {testkit.LongAnswer(), isCorrupt, 1},
		"an answer of other size": {testkit.Refuse(200, "What", 0), isCorrupt, 1},
	} {
		t.Run("read: "+name, func(t *testing.T) {
			t.Parallel()
			b := w.bed(t, impatient)
			x := b.random(100_000)
			b.store(t, x)
			before := b.Count("GET")
			for range f.tries {
				b.On(http.MethodGet, f.fault)
			}
			got, err := b.fetch(t.Context(), x)
			wantCode(t, err, f.code)
			if got != nil {
				t.Errorf("%d bytes come with the error", len(got))
			}
			if n := b.Count("GET") - before; n != f.tries {
				t.Errorf("asked %d times, want %d", n, f.tries)
			}
			b.wantBody(t, x) // and it is well again
		})
		if strings.HasPrefix(name, "4") || name == "no answer" {
			continue // no other than a read's
		}
		t.Run("proof: "+name, func(t *testing.T) {
			t.Parallel()
			b := w.bed(t, impatient)
			for range f.tries {
				b.On(http.MethodGet, f.fault)
			}
			_, err := b.ensure(t.Context(), b.random(100_000), false)
			wantCode(t, err, f.code)
			if n := b.Count("PUT"); n != 1 {
				t.Errorf("uploaded %d times", n)
			}
		})
	}
	for name, f := range map[string]struct {
		fault      testkit.Fault
		puts, gets int
	}{
		"409":               {testkit.Refuse(409, "ConditionalRequestConflict", 0), 3, 0},
		"429":               {testkit.Refuse(429, "TooManyRequests", 0), 3, 0},
		"503":               {testkit.Refuse(503, "SlowDown", 0), 3, 0},
		"500":               {testkit.Refuse(500, "InternalError", 0), 3, 3},
		"the upload's loss": {testkit.LostRequest(), 3, 3},
		"403":               {testkit.Refuse(403, "AccessDenied", 0), 1, 0},
		"400":               {testkit.Refuse(400, "InvalidArgument", 0), 1, 0},
	} {
		t.Run("upload: "+name, func(t *testing.T) {
			t.Parallel()
			b := w.bed(t, impatient)
			x := b.random(1000)
			for range f.puts {
				b.On(http.MethodPut, f.fault)
			}
			uploaded, err := b.ensure(t.Context(), x, false)
			wantCode(t, err, isUnavailable)
			if uploaded {
				t.Error("ensure says that it uploaded")
			}
			if puts, gets := b.Count("PUT"), b.Count("GET"); puts != f.puts || gets != f.gets {
				t.Errorf("%d PUT and %d GET, want %d and %d", puts, gets, f.puts, f.gets)
			}
			_, err = b.fetch(t.Context(), x)
			wantCode(t, err, isMissing)
		})
	}
}
