package holdfast_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// users are n lines; each adds to read when it is taken.
func users(n, size int, read *int) iter.Seq[holdfast.ImportLine] {
	return func(yield func(holdfast.ImportLine) bool) {
		for i := range n {
			*read++
			name := strings.Repeat("x", size)
			if !yield(holdfast.ImportLine{Key: fmt.Sprint("user-", i+1), Account: &holdfast.ImportAccount{Handle: fmt.Sprint("u", i+1), DisplayName: &name}}) {
				return
			}
		}
	}
}

// importer answers each line of a request with its key; "user-3" fails.
func importer(s *service, w *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for i, text := range strings.Split(strings.TrimSuffix(s.bodies[len(s.bodies)-1], "\n"), "\n") {
		var line holdfast.ImportLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			panic(err)
		}
		result := holdfast.ImportResult{Line: i + 1, Key: &line.Key, Result: "created"}
		if line.Key == "user-3" {
			result.Result, result.Error = "failed", &holdfast.ImportError{Code: "handle_taken"}
		}
		out.Encode(result)
	}
}

func TestImport_SendsAllInRequestsOfABoundedSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lines, size, requests int }{
		"none":            {0, 1, 0},
		"one":             {1, 1, 1},
		"a whole request": {1000, 1, 1},
		"and one line":    {1001, 1, 2},
		"many":            {2500, 1, 3},
		"large ones":      {80, 60_000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{}
			s.answer = func(_ int, w *httptest.ResponseRecorder) { importer(s, w) }
			read, n := 0, 0
			for result, err := range holdfast.Import(t.Context(), connect(t, s), users(c.lines, c.size, &read)) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				if key := fmt.Sprint("user-", n); result.Line != n || *result.Key != key || (key == "user-3") != (result.Result == "failed") {
					t.Fatalf("result %d is %+v", n, result)
				}
			}
			if n != c.lines || read != c.lines || len(s.seen) != c.requests {
				t.Errorf("%d results of %d lines came in %d requests, want %d in %d", n, read, len(s.seen), c.lines, c.requests)
			}
			for i, r := range s.seen {
				if size := len(s.bodies[i]); r.Header.Get("Content-Type") != "application/x-ndjson" || size > 5<<20 {
					t.Errorf("request %d has %d bytes of %s", i+1, size, r.Header.Get("Content-Type"))
				}
			}
		})
	}
}

func TestImport_ReadsNoFurtherThanItMust(t *testing.T) {
	t.Parallel()
	s := &service{}
	s.answer = func(_ int, w *httptest.ResponseRecorder) { importer(s, w) }
	read := 0
	for range holdfast.Import(t.Context(), connect(t, s), users(5000, 1, &read)) {
		break
	}
	if read != 1000 || len(s.seen) != 1 {
		t.Errorf("%d lines were read and %d requests sent for one result", read, len(s.seen))
	}
}

func TestImport_ARequestIsSentAgainWhereThatHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  func(s *service)
		code  string // of the error, at the end; "" for none
		times int
	}{
		"an answer is lost": {func(s *service) {
			s.lose = func(n int) error {
				if n == 1 {
					return errors.New("connection reset")
				}
				return nil
			}
		}, "", 2},
		"it is refused for now": {func(s *service) {
			s.answer = func(n int, w *httptest.ResponseRecorder) {
				if n > 1 {
					importer(s, w)
					return
				}
				refuse(w, 503, "database_busy", "1")
			}
		}, "", 2},
		"it is refused": {func(s *service) {
			s.answer = func(_ int, w *httptest.ResponseRecorder) { refuse(w, 403, "insufficient_scope", "") }
		}, "insufficient_scope", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{}
				s.answer = func(_ int, w *httptest.ResponseRecorder) { importer(s, w) }
				c.fail(s)
				var read int
				var lines []int
				var last error
				for result, err := range holdfast.Import(t.Context(), connect(t, s), users(2, 1, &read)) {
					if last = err; err == nil {
						lines = append(lines, result.Line)
					}
				}
				if (last == nil) != (c.code == "") || last != nil && !holdfast.IsCode(last, c.code) || len(s.seen) != c.times {
					t.Errorf("it was sent %d times, want %d, and ends with %v", len(s.seen), c.times, last)
				}
				if diff := cmp.Diff([]int{1, 2}, lines); (diff != "") == (c.code == "") {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestImport_TellsOfResultsThatAreMissing(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintln(w, `{"line":1,"result":"created"}`)
	}}
	read, results := 0, 0
	var last error
	for _, err := range holdfast.Import(t.Context(), connect(t, s), users(2, 1, &read)) {
		results, last = results+1, err
	}
	if results != 1 || last == nil {
		t.Errorf("%d results, the last with %v", results, last)
	}
}

func TestSendImport_GivesTheAnswerAsItComes(t *testing.T) {
	t.Parallel()
	s := &service{answer: func(_ int, w *httptest.ResponseRecorder) { w.WriteString("{}\nhalf a li") }}
	client, err := holdfast.NewClientWithResponses("https://holdfast.example/behind/a/path", holdfast.WithHTTPClient(s))
	if err != nil {
		t.Fatal(err)
	}
	response, err := holdfast.SendImport(t.Context(), client, []byte("{}\n{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "{}\nhalf a li" {
		t.Errorf("the answer is %q, %v", text, err)
	}
	if r := s.seen[0]; r.Method != "POST" || r.URL.String() != "https://holdfast.example/behind/a/path/v1/accounts/import" || s.bodies[0] != "{}\n{}\n" {
		t.Errorf("sent: %s %s %q", r.Method, r.URL, s.bodies[0])
	}

	type wrapped struct{ holdfast.ClientInterface }
	client.ClientInterface = wrapped{client.ClientInterface}
	if _, err := holdfast.SendImport(t.Context(), client, nil); err == nil {
		t.Error("it sent an import by a client that it doesn't know")
	}
}
