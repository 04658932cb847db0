package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

const journalPath = "/v1/worlds/north-7/journal"

func TestAppend_HandsTheDomainExactlyTheBytesThatWereSent(t *testing.T) {
	t.Parallel()
	seven := int64(7)
	for body, want := range map[string]lease.Append{
		`{"entries":[{"payload":"aGk="},{"entry_id":"e~1","payload":""}]}`: {Entries: []lease.AppendEntry{
			{Payload: []byte("hi")}, {ID: "e~1", Payload: []byte{}},
		}},
		`{"entries":[{"json":{"n": 12345678901234567890.50, "a":[1e2]}}],"if_position":7}`: {Entries: []lease.AppendEntry{
			{Payload: []byte(`{"n": 12345678901234567890.50, "a":[1e2]}`), JSON: true},
		}, IfPosition: &seven},
		`{"entries":[{"json":null},{"json":"x"},{"json":0}]}`: {Entries: []lease.AppendEntry{
			{Payload: []byte("null"), JSON: true}, {Payload: []byte(`"x"`), JSON: true}, {Payload: []byte("0"), JSON: true},
		}},
	} {
		for header, held := range map[string]*lease.Authority{"": nil, withLease: &theLease} {
			a := newTestAPI(t, testOptions{})
			a.coordinator.receipt = lease.Receipt{World: "north-7", Epoch: 2, Positions: []int64{18, 19}, Hash: theHash}
			q := request{method: "POST", target: journalPath, body: body}
			if header != "" {
				q.headers = []string{header}
			}
			w := a.do(t, q)
			receipt := `{"chain_hash":"` + theHashText + `","epoch":2,"positions":[18,19],"replayed":false,"world_id":"north-7"}`
			if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusCreated || got != receipt {
				t.Errorf("%s: %d %s", body, w.Code, got)
			}
			if diff := cmp.Diff(any(appended{"north-7", held, want}), a.coordinator.got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: asked (-want +got):\n%s", body, diff)
			}
		}
	}
}

func TestAppend_AReplayedReceiptIsNoCreation(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.coordinator.receipt = lease.Receipt{World: "north-7", Epoch: 2, Positions: []int64{18}, Hash: theHash, Replayed: true}
	w := a.do(t, request{method: "POST", target: journalPath, body: `{"entries":[{"entry_id":"e","payload":""}]}`})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"replayed":true`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAppend_RefusesWhatIsNotOnePayload(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{}`:                                     "payload_not_one /entries/1=payload_not_one",
		`{"entry_id":"e"}`:                       "payload_not_one /entries/1=payload_not_one",
		`{"payload":"","json":1}`:                "payload_not_one /entries/1=payload_not_one",
		`{"payload":null}`:                       "request_invalid /entries/1/payload=null_not_allowed",
		`{"payload":"aGk"}`:                      "request_invalid /entries/1/payload=wrong_format", // no padding
		`{"payload":"aGl="}`:                     "request_invalid /entries/1/payload=wrong_format", // stray bits
		`{"payload":"aG\nk="}`:                   "request_invalid /entries/1/payload=wrong_format",
		`{"payload":"-_8="}`:                     "request_invalid /entries/1/payload=wrong_format", // base64url
		`{"payload":"a"}`:                        "request_invalid /entries/1/payload=wrong_format",
		`{"payload":1}`:                          "request_invalid /entries/1/payload=wrong_type",
		`{"payload":"","note":1}`:                "request_invalid /entries/1/note=unknown_field",
		`{"json":{"a":1,"a":1}}`:                 "json_duplicate_key /entries/1/json/a=json_duplicate_key",
		`{"json":"\u0000"}`:                      "nul_not_allowed /entries/1/json=nul_not_allowed",
		`{"json":` + strings.Repeat("[", 40):     "json_too_deep",
		`{"payload":"","entry_id":"a b"}`:        "request_invalid /entries/1/entry_id=wrong_format",
		`{"payload":"","entry_id":""}`:           "request_invalid /entries/1/entry_id=too_short",
		`{"payload":"` + strings.Repeat("A", 65): "json_malformed",
	} {
		a := newTestAPI(t, testOptions{})
		p := problemIn(t, a.do(t, request{method: "POST", target: journalPath, body: `{"entries":[{"payload":""},` + entry + `]}`}))
		got := p.Code
		for _, f := range fieldsIn(p) {
			got += " " + f.Pointer + "=" + f.Code
		}
		if got != want || a.coordinator.got != nil {
			t.Errorf("%s: %s, want %s", entry, got, want)
		}
	}
}

func TestAppend_TakesABodyOfTwoMebibytes(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	body := func(size int) string {
		frame := `{"entries":[{"payload":""}]}`
		return `{"entries":[{"payload":"` + strings.Repeat("A", (size-len(frame))/4*4) + `"}]}`
	}
	if w := a.do(t, request{method: "POST", target: journalPath, body: body(2 << 20)}); w.Code != http.StatusCreated {
		t.Errorf("2 MiB: %d %.200s", w.Code, w.Body)
	}
	if w := a.do(t, request{method: "POST", target: journalPath, body: body(2<<20 + 8)}); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("more: %d %.200s", w.Code, w.Body)
	}
}

func TestCheckAppend_IsAVerdictAndNoProblem(t *testing.T) {
	t.Parallel()
	for want, refusal := range map[string]*domain.Error{
		`{"accepted":true,"lease":` + leaseText + `}`:                                                                nil,
		`{"accepted":false,"lease":` + leaseText + `,"refusal":{"code":"lease_expired","detail":"Over.","epoch":3}}`: domain.Conflict("lease_expired", "Over.").With("epoch", int64(3)),
	} {
		a := newTestAPI(t, testOptions{})
		a.coordinator.refusal = refusal
		w := a.do(t, request{method: "POST", target: journalPath + "/check", headers: []string{withLease}})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%d %s\nwant %s", w.Code, got, want)
		}
		if diff := cmp.Diff(any(appended{World: "north-7", Authority: &theLease}), a.coordinator.got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

// journalOf is a journal of so many entries, in pages of at most the given size.
func journalOf(length int64, page int) func(after int64, limit int) (lease.EntryPage, error) {
	return func(after int64, limit int) (lease.EntryPage, error) {
		p := lease.EntryPage{Position: length}
		for n := after + 1; n <= length && len(p.Entries) < min(limit, page); n++ {
			p.Entries = append(p.Entries, theEntry(n))
		}
		p.More = after+int64(len(p.Entries)) < length
		return p, nil
	}
}

func linesOf(from, to int64) string {
	var text []byte
	for n := from; n <= to; n++ {
		entry := theEntry(n)
		text = append(entry.AppendJSON(text), '\n')
	}
	return string(text)
}

func TestReadJournal_GivesEntriesToTheLetter(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.coordinator.entries = journalOf(5, 1000)
	entries := strings.ReplaceAll(strings.TrimSuffix(linesOf(3, 4), "\n"), "\n", ",")
	for target, want := range map[string]string{
		"?after=2&limit=2": `{"entries":[` + entries + `],"position":5,"more":true}`,
		"?after=5":         `{"entries":[],"position":5,"more":false}`,
	} {
		w := a.do(t, request{method: "GET", target: journalPath + target})
		if got := w.Body.String(); w.Code != http.StatusOK || got != want || w.Header().Get("Content-Type") != mediaJSON {
			t.Errorf("%s: %d %s\nwant %s", target, w.Code, got, want)
		}
	}
}

func TestReadJournal_CoercesTheLimit(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]int{"": 100, "?limit=1": 1, "?limit=1000": 1000, "?limit=1001": 1000, "?limit=0": 1, "?limit=-9": 1} {
		a := newTestAPI(t, testOptions{})
		a.do(t, request{method: "GET", target: journalPath + query})
		if diff := cmp.Diff(any(askedEntries{0, want}), a.coordinator.got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

func TestReadJournal_AsLinesGoesThroughAllPages(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                   linesOf(1, 2500),
		"?after=2400":        linesOf(2401, 2500),
		"?limit=5":           linesOf(1, 5),
		"?limit=9&after=2":   linesOf(3, 11),
		"?after=2500":        "",
		"?limit=99999999999": linesOf(1, 2500),
	} {
		a := newTestAPI(t, testOptions{})
		a.coordinator.entries = journalOf(2500, 7)
		w := a.do(t, request{method: "GET", target: journalPath + query, headers: []string{"Accept: application/x-ndjson"}})
		if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != mediaNDJSON || w.Header().Get("Vary") != "Accept" {
			t.Errorf("%q: %d %v, %d lines", query, w.Code, w.Header(), strings.Count(w.Body.String(), "\n"))
		}
	}
}

func TestReadJournal_IsLinesWhereTheyAreAskedForByName(t *testing.T) {
	t.Parallel()
	for accept, lines := range map[string]bool{
		"application/x-ndjson": true, "Application/X-NDJSON;q=0.5": true, "text/html, application/x-ndjson": true,
		"*/*": false, "application/*": false, "application/json": false, "application/x-ndjson;q=0": false, "application/x-ndjson;q": false, "": false, ";": false,
	} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "GET", target: journalPath, headers: []string{"Accept: " + accept}})
		if got := w.Header().Get("Content-Type") == mediaNDJSON; got != lines {
			t.Errorf("%q: %s", accept, w.Header().Get("Content-Type"))
		}
	}
}

// What breaks off must not look like all there is.
func TestReadJournal_LinesThatBreakOffAreCutOff(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	pages := journalOf(50, 10)
	a.coordinator.entries = func(after int64, limit int) (lease.EntryPage, error) {
		if after == 30 {
			return lease.EntryPage{}, domain.Unavailable("database_busy", "Try again.")
		}
		return pages(after, limit)
	}
	server := a.listen(t, time.Minute)
	r, err := http.NewRequest("GET", server.URL+journalPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer tenant")
	r.Header.Set("Accept", mediaNDJSON)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(linesOf(1, 30), string(text)) {
		t.Errorf("%v behind %d lines", err, strings.Count(string(text), "\n"))
	}
	server.Close() // the request has ended then, and is logged
	if log := a.log.String(); !strings.Contains(log, "cut off") || !strings.Contains(log, fmt.Sprintf(`"route":%q`, "/v1/worlds/{world_id}/journal")) {
		t.Errorf("the log is %s", log)
	}
	a.coordinator.err = domain.NotFound("world_not_found", "No.")
	w := a.do(t, request{method: "GET", target: journalPath, headers: []string{"Accept: application/x-ndjson"}})
	if p := problemIn(t, w); p.Code != "world_not_found" {
		t.Errorf("before the first line: %s", p.Code)
	}
}
