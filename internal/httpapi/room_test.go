package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

const emptyPublication = `{"operation_id":"o","sections":{"items":{"body":""}}}`

// unread fails the test when anything of it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestRoom_IsTakenBeforeALargeBodyIsReadAndGivenBack(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	parts := inParts(part("publication", `{"operation_id":"o"}`))
	const most = 12 << 20
	for name, c := range map[string]struct {
		request
		want []int64
	}{
		"JSON":                    {request{method: "PUT", target: orders("/records/a"), body: emptyPublication}, []int64{3 * int64(len(emptyPublication))}},
		"JSON of no length":       {request{method: "PUT", target: orders("/records/a"), body: emptyPublication, headers: []string{"Transfer-Encoding: chunked"}}, []int64{3 * most}},
		"parts":                   {request{method: "PUT", target: orders("/records/a"), body: parts, headers: []string{"Content-Type: multipart/form-data; boundary=x"}}, []int64{int64(len(parts))}},
		"parts of no length":      {request{method: "PUT", target: orders("/records/a"), body: parts, headers: []string{"Content-Type: multipart/form-data; boundary=x", "Transfer-Encoding: chunked"}}, []int64{most}},
		"what is malformed":       {request{method: "PUT", target: orders("/records/a"), body: "{"}, []int64{3}},
		"many publications":       {request{method: "POST", target: orders("/publish"), body: "{}"}, []int64{6}},
		"a completion":            {request{method: "POST", target: orders("/batches/b/complete"), body: "{}"}, []int64{6}},
		"a claim, which is small": {request{method: "POST", target: orders("/batches"), body: "{}"}, nil},
		"what is too long":        {request{method: "PUT", target: orders("/records/a"), body: strings.Repeat(" ", most+1)}, nil},
		"another media type":      {request{method: "PUT", target: orders("/records/a"), body: "x", headers: []string{"Content-Type: text/plain"}}, nil},
		"nobody's":                {request{method: "PUT", target: orders("/records/a"), body: emptyPublication, anonymous: true}, nil},
		"one without the scope":   {request{method: "PUT", target: orders("/records/a"), body: emptyPublication, token: "reader"}, nil},
	} {
		a.memory.taken = nil
		a.do(t, c.request)
		if len(c.want) > 0 && a.memory.by != testTenant {
			t.Errorf("%s: taken by %v", name, a.memory.by)
		}
		if !slices.Equal(a.memory.taken, c.want) || a.memory.inUse != 0 {
			t.Errorf("%s: took %d, want %d; %d are left", name, a.memory.taken, c.want, a.memory.inUse)
		}
	}
}

func TestRoom_IsHeldWhileTheWorkGoesOnHoweverItEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() error{
		"well":       func() error { return nil },
		"in failure": func() error { return errors.New("broken") },
		"in a panic": func() error { panic("broken") },
	} {
		a := newTestAPI(t, testOptions{})
		held := int64(0)
		a.records.act = func(context.Context) error {
			held = a.memory.inUse
			return end()
		}
		a.do(t, request{method: "PUT", target: orders("/records/a"), body: emptyPublication, headers: []string{"If-None-Match: *"}})
		if held != 3*int64(len(emptyPublication)) || a.memory.inUse != 0 {
			t.Errorf("%s: %d were held, %d are left", name, held, a.memory.inUse)
		}
	}
}

func TestRoom_WithoutAnyTheBodyIsRefusedUnread(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.memory.full = true
	r := httptest.NewRequest("PUT", orders("/records/a"), unread{t})
	r.ContentLength = 11 << 20
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer tenant")
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	if p := problemIn(t, w); p.Status != http.StatusServiceUnavailable || p.Code != "overloaded" || w.Header().Get("Retry-After") != "1" || a.records.called != nil {
		t.Errorf("%d %s %v", p.Status, p.Code, w.Header())
	}
}

// A conflict that shows bodies lets go of what was sent first: whoever holds room
// while he waits for more could wait for one who waits for him.
func TestRoom_IsGivenBackBeforeAConflictTakesThatOfItsBodies(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.err = domain.PreconditionFailed("revision_stale", "Stale.").With("record", &a.records.record)
	held := int64(-1)
	a.records.reading = func() { held = a.memory.inUse }
	w := a.do(t, request{method: "PUT", target: orders("/records/a?include=bodies"), body: emptyPublication, headers: []string{`If-Match: "3"`}})
	if held != 0 || w.Code != http.StatusPreconditionFailed {
		t.Errorf("%d were held; %d %s", held, w.Code, w.Body)
	}
	var p Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Record == nil || string(*p.Record.Sections["items"].Body) != "hello" {
		t.Errorf("shown is %s: %v", w.Body, err)
	}
}

// Many callers with as much as they may send hold no more than their
// tenant's share: the rest is not read meanwhile.
func TestRoom_ManyCallersStayWithinTheBudget(t *testing.T) {
	for name, c := range map[string]struct {
		callers, fit int // how many of them the tenant's share holds
		budget       int64
		media        string
		body         func() (io.Reader, int64)
	}{
		"in parts": {64, 12, 230 << 20, "multipart/form-data; boundary=x", partsOf8MiB},
		"as JSON":  {16, 2, 160 << 20, "application/json", jsonOf8MiB},
	} {
		t.Run(name, func(t *testing.T) {
			arrived, leave := make(chan struct{}, c.callers), make(chan struct{})
			var within, most atomic.Int64
			a := newTestAPI(t, testOptions{discard: true, memory: record.NewMemory(c.budget)})
			a.records.act = func(context.Context) error {
				now := within.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				arrived <- struct{}{}
				<-leave
				within.Add(-1)
				return nil
			}
			server := a.listen(t, time.Minute)
			before := liveHeap()
			answers := make(chan string, c.callers)
			for range c.callers {
				go func() { answers <- putLarge(server.URL, c.media, c.body) }()
			}
			for range c.fit {
				<-arrived
			}
			if grown := int64(liveHeap() - before); grown > c.budget/2 {
				t.Errorf("%d MiB are held, of %d", grown>>20, c.budget/2>>20)
			}
			close(leave)
			outcomes := map[string]int{}
			for range c.callers {
				outcomes[<-answers]++
			}
			if outcomes["200"]+outcomes["503 overloaded"] != c.callers || outcomes["200"] < c.fit || most.Load() > int64(c.fit) {
				t.Errorf("%v; %d at once, where %d fit", outcomes, most.Load(), c.fit)
			}
		})
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// repeat gives a byte over and over, without holding them.
type repeat byte

func (b repeat) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = byte(b)
	}
	return len(into), nil
}

func partsOf8MiB() (io.Reader, int64) {
	head := "--x\r\n" + part("publication", `{"operation_id":"o"}`)
	all, length := []io.Reader{strings.NewReader(head)}, int64(len(head))
	for _, section := range []string{"a", "b", "c", "d"} {
		head := "\r\n--x\r\n" + part(section, "")
		all = append(all, strings.NewReader(head), io.LimitReader(repeat('A'), 2<<20))
		length += int64(len(head)) + 2<<20
	}
	return io.MultiReader(append(all, strings.NewReader("\r\n--x--\r\n"))...), length + 9
}

func jsonOf8MiB() (io.Reader, int64) {
	const encoded = (2 << 20) / 3 * 4 // characters
	all, length := []io.Reader{strings.NewReader(`{"operation_id":"o","sections":{`)}, int64(32)
	for i, section := range []string{"a", "b", "c", "d"} {
		head := strings.Repeat(",", min(i, 1)) + `"` + section + `":{"body":"`
		all = append(all, strings.NewReader(head), io.LimitReader(repeat('A'), encoded), strings.NewReader(`"}`))
		length += int64(len(head)) + encoded + 2
	}
	return io.MultiReader(append(all, strings.NewReader("}}"))...), length + 2
}

// putLarge gives the status, and the code of a problem.
func putLarge(url, media string, body func() (io.Reader, int64)) string {
	reader, length := body()
	r, err := http.NewRequest("PUT", url+orders("/records/a"), reader)
	if err != nil {
		return err.Error()
	}
	r.ContentLength = length
	r.Header = http.Header{"Content-Type": {media}, "Authorization": {"Bearer tenant"}, "If-None-Match": {"*"}, "Expect": {"100-continue"}}
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	var p Problem
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	if answer.StatusCode == http.StatusOK {
		return "200"
	}
	if err := json.Unmarshal(bytes.TrimSpace(text), &p); err != nil {
		return err.Error()
	}
	return fmt.Sprint(answer.StatusCode, " ", p.Code)
}
