package holdfast_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// shelf is a service with one record, one export and one batch, in memory and without
// a network, so that a test decides what goes wrong and waiting costs no time.
type shelf struct {
	mu       sync.Mutex
	revision int64
	bodies   map[string][]byte // by section
	receipts map[string]holdfast.Receipt
	inSQL    bool // and so there is nothing to download from the store
	changes  []holdfast.ExportedSection

	term    time.Duration
	expires time.Time // of the batch's claims
	beats   int
	stolen  bool // another batch has the claims

	seen   []*http.Request // to records and the store
	sent   []string        // their bodies
	asked  map[string]int  // how often, by what goes asks for
	goes   func(op string, n int) trouble
	stores func(*http.Request) // sees what comes to the store
}

// trouble is what happens to a request or its answer.
type trouble struct {
	mishap
	cut   int                              // the answer's body breaks off behind so many bytes
	whole bool                             // ranges are not known
	spoil func(*httptest.ResponseRecorder) // changes the answer
}

func newShelf() *shelf {
	return &shelf{revision: 1, bodies: map[string][]byte{"items": []byte("hello")}, receipts: map[string]holdfast.Receipt{}, asked: map[string]int{}}
}

func (s *shelf) client(t *testing.T, options ...holdfast.Option) *holdfast.ClientWithResponses {
	t.Helper()
	client, err := holdfast.Connect("https://holdfast.test", testKey, append(options, holdfast.WithHTTPDoer(s))...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (s *shelf) times(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[op]
}

// op is what a request asks for.
func op(r *http.Request) string {
	switch word := path.Base(r.URL.Path); {
	case r.URL.Host == "store.test":
		return "store"
	case r.Method == http.MethodPut:
		return "put"
	case word == "body", word == "presign", word == "export", word == "batches", word == "heartbeat", word == "complete":
		return word
	default:
		return "get"
	}
}

// Do answers one request. Time passes while nothing is locked.
func (s *shelf) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/oauth/token") {
		return answer(200, map[string]any{"access_token": "t", "token_type": "Bearer", "expires_in": 86400}), nil
	}
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	s.seen, s.sent = append(s.seen, r), append(s.sent, string(sent))
	s.asked[op(r)]++
	var t trouble
	if s.goes != nil {
		t = s.goes(op(r), s.asked[op(r)])
	}
	s.mu.Unlock()
	if err := sleep(r, t.way); err != nil {
		return nil, err
	}
	if t.unsent {
		return nil, errNetwork
	}
	if t.refuse != "" {
		return problem(t.status, t.refuse, t.after, nil), nil
	}
	if t.whole {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	w := httptest.NewRecorder()
	s.mu.Lock()
	s.serve(w, r, sent)
	s.mu.Unlock()
	if err := sleep(r, t.back); err != nil {
		return nil, err
	}
	if t.lost {
		return nil, errNetwork
	}
	if t.spoil != nil {
		t.spoil(w)
	}
	response := w.Result()
	response.Header = w.Header() // as it was spoilt
	if t.cut > 0 {
		response.Body = io.NopCloser(io.MultiReader(io.LimitReader(response.Body, int64(t.cut)), iotest.ErrReader(io.ErrUnexpectedEOF)))
	}
	return response, nil
}

func (s *shelf) serve(w *httptest.ResponseRecorder, r *http.Request, sent []byte) {
	w.Header().Set("Content-Type", "application/json")
	switch op(r) {
	case "put":
		s.put(w, r, sent)
	case "get":
		json.NewEncoder(w).Encode(s.record(r.URL.Query().Get("include") == "bodies"))
	case "presign":
		if s.inSQL {
			refuse(w, 409, "body_in_sql", "")
			return
		}
		body := s.bodies["items"]
		json.NewEncoder(w).Encode(holdfast.PresignedBody{
			URL: "https://store.test/bucket/object?signature=secret", Digest: digest(body), Length: int64(len(body)),
		})
	case "body", "store":
		if op(r) == "store" && s.stores != nil {
			s.stores(r)
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"`+digest(s.bodies["items"])+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.bodies["items"]))
	case "export":
		s.export(w, r)
	case "batches", "heartbeat":
		s.claim(w, r, sent)
	case "complete":
		s.complete(w, sent)
	}
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func ptr[T any](v T) *T { return &v }

func (s *shelf) record(bodies bool) holdfast.Record {
	r := holdfast.Record{Key: "k", Revision: s.revision, Live: true, Sections: map[string]holdfast.RecordSection{}}
	for name, body := range s.bodies {
		section := holdfast.RecordSection{Live: true, Digest: ptr(digest(body)), Length: int64(len(body))}
		if bodies {
			section.Body = &body
		}
		r.Sections[name] = section
	}
	return r
}

// put makes a publication once, and gives its receipt again.
func (s *shelf) put(w *httptest.ResponseRecorder, r *http.Request, sent []byte) {
	p, bodies := publicationIn(r, sent)
	receipt, known := s.receipts[p.OperationID]
	switch {
	case known:
		w.Header().Set("Idempotent-Replayed", "true")
	case r.Header.Get("If-Match") != "" && r.Header.Get("If-Match") != fmt.Sprintf(`"%d"`, s.revision):
		response := problem(412, "revision_stale", "", map[string]any{"record": s.record(r.URL.Query().Get("include") == "bodies")})
		w.WriteHeader(response.StatusCode)
		io.Copy(w, response.Body)
		return
	default:
		s.revision++
		receipt = holdfast.Receipt{OperationID: &p.OperationID, Key: "k", Outcome: "published", Revision: s.revision}
		for name, body := range bodies {
			s.bodies[name] = body
			receipt.Changes = append(receipt.Changes, holdfast.SectionChange{Section: name, Live: true, Digest: ptr(digest(body)), Length: int64(len(body))})
		}
		s.receipts[p.OperationID] = receipt
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, receipt.Revision))
	json.NewEncoder(w).Encode(receipt)
}

func publicationIn(r *http.Request, sent []byte) (p holdfast.Publication, bodies map[string][]byte) {
	bodies = map[string][]byte{}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		json.Unmarshal(sent, &p)
		if p.Sections != nil {
			for name, s := range *p.Sections {
				bodies[name] = s.Body
			}
		}
		return p, bodies
	}
	for parts := multipart.NewReader(bytes.NewReader(sent), params["boundary"]); ; {
		part, err := parts.NextPart()
		if err != nil {
			return p, bodies
		}
		body, _ := io.ReadAll(part)
		if part.FormName() == "publication" {
			json.Unmarshal(body, &p)
			continue
		}
		bodies[part.FormName()] = body
	}
}

// changed adds a change to the export.
func (s *shelf) changed(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, holdfast.ExportedSection{
		Key: key, Section: "items", Live: true, Digest: ptr(digest(body)), Length: int64(len(body)), Body: &body, ExportSequence: int64(len(s.changes) + 1),
	})
}

// export gives two changes a page.
func (s *shelf) export(w *httptest.ResponseRecorder, r *http.Request) {
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	end := min(after+2, len(s.changes))
	page := holdfast.ExportPage{Records: s.changes[after:end], Next: int64(end), More: end < len(s.changes), ExportSequence: int64(len(s.changes))}
	json.NewEncoder(w).Encode(page)
}

// claim claims items "a" and "b"; another batch holds "c".
func (s *shelf) claim(w *httptest.ResponseRecorder, r *http.Request, sent []byte) {
	var asked holdfast.NewBatch
	json.Unmarshal(sent, &asked)
	state := "leased"
	if op(r) == "heartbeat" && (s.stolen || time.Now().After(s.expires)) {
		state = "lease_expired"
	} else {
		s.term = time.Duration(*asked.TermSeconds) * time.Second
		s.expires = time.Now().Add(s.term)
	}
	items := []holdfast.BatchItem{{Key: "a", State: state, Generation: ptr(int64(1))}, {Key: "b", State: state, Generation: ptr(int64(1))}}
	if op(r) == "heartbeat" {
		s.beats++
		json.NewEncoder(w).Encode(holdfast.BatchItems{Items: items})
		return
	}
	items = append(items, holdfast.BatchItem{Key: "c", State: "held"})
	json.NewEncoder(w).Encode(holdfast.Batch{BatchID: asked.BatchID, Owner: asked.Owner, Items: items})
}

func (s *shelf) complete(w *httptest.ResponseRecorder, sent []byte) {
	var asked holdfast.NewCompletion
	json.Unmarshal(sent, &asked)
	done := holdfast.Completion{OperationID: asked.OperationID}
	for _, item := range asked.Items {
		outcome := holdfast.CompletedItem{Key: item.Key, Generation: item.Generation, Outcome: "published"}
		if time.Now().After(s.expires) {
			outcome.Outcome = "lease_expired"
		}
		done.Items = append(done.Items, outcome)
	}
	json.NewEncoder(w).Encode(done)
}
