package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// What is written piece by piece is what the generated types would say.
func TestBodies_ARecordIsWrittenAsItsTypesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := record.Record{Collection: "orders", Key: anyText().Draw(t, "key"), Revision: 3, CreatedAt: verifiedAt, UpdatedAt: verifiedAt}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z][a-z0-9._-]{0,9}`), 0, 4, rapid.ID).Draw(t, "sections") {
			r.Sections = append(r.Sections, anySection(name).Draw(t, name))
		}
		want := encodeRecord(r)
		for i := range r.Sections {
			if s := &r.Sections[i]; s.Live {
				encoded := want.Sections[s.Name]
				encoded.Body = &s.Body
				want.Sections[s.Name] = encoded
			}
		}
		var got Record
		written(t, bodiedRecord{r}, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestBodies_APageOfAnExportIsWrittenAsItsTypesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		page := record.ExportPage{Next: 9, More: true, Sequence: 12}
		for range rapid.IntRange(0, 4).Draw(t, "sections") {
			e := record.Exported{Section: anySection("items").Draw(t, "section"), Key: anyText().Draw(t, "key"), Revision: 4}
			if e.Live && rapid.Bool().Draw(t, "unavailable") {
				e.Unavailable, e.Body = true, nil
			}
			page.Records = append(page.Records, e)
		}
		want := encodePage(&page)
		for i := range page.Records {
			if e := &page.Records[i]; e.Live && !e.Unavailable {
				want.Records[i].Body = &e.Body
			}
		}
		var got ExportPage
		written(t, bodiedPage{&page}, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"sections":{}`, `"records":[]`, `\"sections\":{}`, "</script>"}))
}

func anySection(name string) *rapid.Generator[record.Section] {
	return rapid.Custom(func(t *rapid.T) record.Section {
		s := record.Section{Name: name, Producer: anyText().Draw(t, "producer"), Sequence: 5, UpdatedAt: verifiedAt}
		if s.Live = rapid.Bool().Draw(t, "live"); s.Live {
			s.Body = rapid.SliceOf(rapid.Byte()).Draw(t, "body")
			s.Digest, s.Length = record.DigestOf(s.Body), int64(len(s.Body))
		}
		return s
	})
}

func written(t *rapid.T, value jsonWriter, into any) {
	var out bytes.Buffer
	if err := value.writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil || decoder.More() {
		t.Fatalf("not the type's JSON: %v", err)
	}
}

func TestBodies_AConflictShowsThemAndSaysItsOtherFacts(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.err = domain.Conflict("digest_mismatch", "Not as expected.").With("record", &a.records.record).With("section", "items")
	ask := func(query string) Problem {
		return problemIn(t, a.do(t, request{method: "PUT", target: orders("/records/a" + query), body: emptyPublication, headers: []string{"If-None-Match: *"}}))
	}
	p := ask("")
	if p.Status != http.StatusConflict || p.Record == nil || p.Record.Sections["items"].Body != nil || *p.Section != "items" {
		t.Errorf("without bodies: %+v", p)
	}
	p = ask("?include=bodies")
	if p.Status != http.StatusConflict || string(*p.Record.Sections["items"].Body) != "hello" || p.Record.Sections["closed"].Body != nil || *p.Section != "items" {
		t.Errorf("with bodies: %+v", p)
	}
	a.records.noBodies = domain.Unavailable("body_unavailable", "Later.")
	if p = ask("?include=bodies"); p.Status != http.StatusServiceUnavailable || p.Code != "body_unavailable" || p.Record != nil {
		t.Errorf("with bodies that can't be had: %+v", p)
	}
	a.records.err = domain.Conflict("claim_lost", "Lost.")
	if p = ask("?include=bodies"); p.Code != "claim_lost" {
		t.Errorf("with no record to show: %+v", p)
	}
}

// brokenWriter takes no more than so many bytes.
type brokenWriter struct {
	http.ResponseWriter
	left int
}

func (w *brokenWriter) Write(text []byte) (int, error) {
	if len(text) > w.left {
		return 0, errors.New("the caller has gone")
	}
	w.left -= len(text)
	return w.ResponseWriter.Write(text)
}

func TestBodies_AnAnswerThatIsCutOffIsNoWholeOne(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	large := strings.Repeat("hello", 100_000)
	a.records.record.Sections[1].Body = []byte(large)
	a.records.record.Sections[1].Length = int64(len(large))
	for _, path := range []string{orders("/records/a?include=bodies"), orders("/records/a/sections/items/body")} {
		w, r := recorded(path)
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler {
					t.Errorf("%s: the connection isn't dropped", path)
				}
			}()
			a.ServeHTTP(&brokenWriter{w, 100_000}, r)
		}()
	}
}

func TestBody_HeadersAndWhatIsHadAreAnsweredWithoutReadingIt(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	tag := digestTag(a.records.record.Sections[1].Digest)
	for name, c := range map[string]struct {
		request
		status int
		called []string
	}{
		"HEAD":                {request{method: "HEAD"}, 200, []string{"stat"}},
		"HEAD of what is had": {request{method: "HEAD", headers: []string{"If-None-Match: " + tag}}, 304, []string{"stat"}},
		"what is had":         {request{method: "GET", headers: []string{"If-None-Match: " + tag}}, 304, []string{"stat"}},
		"another":             {request{method: "GET", headers: []string{`If-None-Match: "x"`}}, 200, []string{"stat", "body"}},
		"all":                 {request{method: "GET"}, 200, []string{"body"}},
	} {
		a.records.called = nil
		c.target = orders("/records/a/sections/items/body")
		w := a.do(t, c.request)
		if diff := cmp.Diff(c.called, a.records.called, cmpopts.EquateEmpty()); diff != "" || w.Code != c.status || w.Header().Get("ETag") != tag {
			t.Errorf("%s: %d %v (-want +got)\n%s", name, w.Code, w.Header(), diff)
		}
	}
}
