package holdfast_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// stacks is a service with records of one section each, by collection and key.
type stacks struct {
	mu      sync.Mutex
	records map[string]map[string][]byte
	asked   map[string]int // by path
	tokens  map[string]bool
	largest int // limit that was asked for

	before func(r *http.Request, n int) *http.Response // answers in its place, if not nil
	after  func(r *http.Request, text string) string   // changes an answer
}

func newStacks(collections, records int) *stacks {
	s := &stacks{records: map[string]map[string][]byte{}, asked: map[string]int{}, tokens: map[string]bool{}}
	for c := range collections {
		of := map[string][]byte{}
		for i := range records {
			of[fmt.Sprintf("k%03d", i)] = fmt.Appendf(nil, "body %d of %d", i, c)
		}
		s.records[fmt.Sprintf("c%d", c)] = of
	}
	return s
}

func (s *stacks) Do(r *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // v1 collections c export | v1 collections c records k
	s.mu.Lock()
	s.asked[r.URL.Path]++
	n := s.asked[r.URL.Path]
	s.tokens[r.Header.Get("Authorization")] = true
	s.mu.Unlock()
	if s.before != nil {
		if response := s.before(r, n); response != nil {
			return response, r.Context().Err()
		}
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	of := s.records[parts[2]]
	if parts[3] == "export" {
		s.export(w, r, of)
	} else {
		body, there := of[parts[4]]
		if !there {
			return problem(404, "record_not_found", "", nil), nil
		}
		json.NewEncoder(w).Encode(holdfast.Record{Collection: parts[2], Key: parts[4], Revision: 3, Live: true, Sections: map[string]holdfast.RecordSection{
			"items": {Live: true, Digest: ptr(digest(body)), Length: int64(len(body)), Body: &body, ExportSequence: 7},
		}})
	}
	text := w.Body.String()
	if s.after != nil {
		text = s.after(r, text)
	}
	w.Body.Reset()
	w.Body.WriteString(text)
	return w.Result(), nil
}

func (s *stacks) export(w http.ResponseWriter, r *http.Request, of map[string][]byte) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	s.mu.Lock()
	s.largest = max(s.largest, limit)
	s.mu.Unlock()
	page := holdfast.ExportPage{Records: []holdfast.ExportedSection{}}
	for i := range min(limit, len(of)) {
		key := fmt.Sprintf("k%03d", i)
		body := of[key]
		page.Records = append(page.Records, holdfast.ExportedSection{
			Key: key, Section: "items", Revision: 3, Live: true, Digest: ptr(digest(body)), Length: int64(len(body)), Body: &body, ExportSequence: int64(i + 1),
		})
	}
	page.More = limit < len(of)
	json.NewEncoder(w).Encode(page)
}

// read reads all collections of the stacks.
func (s *stacks) read(t *testing.T, change func(*holdfast.Verification)) holdfast.VerificationReport {
	t.Helper()
	v := holdfast.Verification{
		Limits: holdfast.ReadLimits{Attempts: 3, PageRecords: 32, PhaseSeconds: 600, Points: 128, RequestSeconds: 30, ResponseBytes: 16 << 20},
		Token:  holdfast.Token{AccessToken: "reading"},
	}
	for name := range s.records {
		v.Collections = append(v.Collections, holdfast.ReadCollection{Collection: name, Sections: []string{"items"}})
	}
	slices.SortFunc(v.Collections, func(a, b holdfast.ReadCollection) int { return strings.Compare(a.Collection, b.Collection) })
	if change != nil {
		change(&v)
	}
	report, err := holdfast.ReadVerification(t.Context(), "https://holdfast.test", v, holdfast.WithHTTPDoer(s))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(report); err != nil || strings.Contains(string(text), "null") || strings.Contains(string(text), `"body"`) {
		t.Errorf("the report is %s, %v", text, err)
	}
	return report
}

func TestReadVerification_ReadsAPageOfEachSectionAndSpreadsRecordsOverThem(t *testing.T) {
	t.Parallel()
	s := newStacks(5, 50)
	report := s.read(t, func(v *holdfast.Verification) {
		v.Points = []holdfast.RecordName{{Collection: "c4", Key: "k049"}, {Collection: "c4", Key: "gone"}}
	})
	if len(report.Pages) != 5 || len(report.Points) != 128 || s.largest != 32 || len(report.Limits) != 0 {
		t.Fatalf("%d pages of %d, %d records, limits %v", len(report.Pages), s.largest, len(report.Points), report.Limits)
	}
	if report.Bodies != 5*32+127 || report.Requests != 5+128 || report.Bytes == 0 {
		t.Errorf("%d bodies, %d bytes in %d requests", report.Bodies, report.Bytes, report.Requests)
	}
	if first, second := report.Points[0], report.Points[1]; first.Outcome != holdfast.ReadSeen || first.Key != "k049" || second.Outcome != holdfast.ReadAbsent {
		t.Errorf("the named records came to %+v, %+v", first, second)
	}
	of := map[string]int{}
	for _, p := range report.Points[2:] {
		of[p.Collection]++
	}
	for name := range s.records {
		if of[name] < 20 {
			t.Errorf("%s has %d of the records", name, of[name])
		}
	}
	if len(s.tokens) != 1 || !s.tokens["Bearer reading"] {
		t.Errorf("it called with %v", s.tokens)
	}
}

func TestReadVerification_TellsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	refuse := func(status int, code, after string) func(*http.Request, int) *http.Response {
		return func(r *http.Request, n int) *http.Response {
			if strings.HasSuffix(r.URL.Path, "k001") {
				return problem(status, code, after, nil)
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		before func(*http.Request, int) *http.Response
		after  func(*http.Request, string) string
		want   holdfast.ReadOutcome
		tries  int
		limits []string
	}{
		"a body that isn't its digest's": {
			after: func(r *http.Request, text string) string {
				if strings.HasSuffix(r.URL.Path, "k001") {
					text = strings.Replace(text, `"body":"Ym9k`, `"body":"Ym9j`, 1)
				}
				return text
			},
			want: holdfast.ReadWrong, tries: 3,
		},
		"a body that can't be had":    {before: refuse(503, "body_unavailable", "5"), want: holdfast.ReadUnavailable, tries: 3},
		"a record that has gone":      {before: refuse(404, "record_not_found", ""), want: holdfast.ReadAbsent, tries: 1},
		"no answer":                   {before: refuse(503, "overloaded", "1"), want: holdfast.ReadUnanswered, tries: 3, limits: []string{"attempts"}},
		"an answer in the last try":   {before: onlyFirst(2, refuse(503, "overloaded", "1")), want: holdfast.ReadSeen, tries: 3},
		"an answer that is too large": {after: padded, want: holdfast.ReadUnanswered, tries: 1, limits: []string{"response"}},
		"a try that hangs": {
			before: func(r *http.Request, _ int) *http.Response {
				if !strings.HasSuffix(r.URL.Path, "k001") {
					return nil
				}
				<-r.Context().Done()
				return &http.Response{}
			},
			want: holdfast.ReadUnanswered, tries: 3, limits: []string{"attempts"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStacks(1, 3)
				s.before, s.after = test.before, test.after
				report := s.read(t, func(v *holdfast.Verification) { v.Limits.ResponseBytes = 4096 })
				for _, p := range report.Points {
					want := holdfast.ReadSeen
					if p.Key == "k001" {
						want = test.want
					}
					if p.Outcome != want {
						t.Errorf("%s came to %s, want %s", p.Key, p.Outcome, want)
					}
				}
				if n := s.asked["/v1/collections/c0/records/k001"]; n != test.tries {
					t.Errorf("it was tried %d times, want %d", n, test.tries)
				}
				if !slices.Equal(report.Limits, test.limits) {
					t.Errorf("limits %v, want %v", report.Limits, test.limits)
				}
			})
		})
	}
}

func onlyFirst(n int, answer func(*http.Request, int) *http.Response) func(*http.Request, int) *http.Response {
	return func(r *http.Request, try int) *http.Response {
		if try > n {
			return nil
		}
		return answer(r, try)
	}
}

func padded(r *http.Request, text string) string {
	if strings.HasSuffix(r.URL.Path, "k001") {
		text = strings.Repeat(" ", 4096) + text
	}
	return text
}

func TestReadVerification_EndsWithItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStacks(40, 3)
		s.before = func(r *http.Request, _ int) *http.Response {
			<-r.Context().Done()
			return &http.Response{}
		}
		began := time.Now()
		report := s.read(t, nil)
		if took := time.Since(began); took > 10*time.Minute {
			t.Errorf("it took %v", took)
		}
		if len(report.Pages) != 40 || !slices.Contains(report.Limits, "phase") {
			t.Errorf("%d pages, limits %v", len(report.Pages), report.Limits)
		}
		for _, page := range report.Pages {
			if page.Outcome != holdfast.ReadUnanswered {
				t.Errorf("%s came to %s", page.Collection, page.Outcome)
			}
		}
	})
}
