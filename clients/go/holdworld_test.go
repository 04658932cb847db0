package holdfast_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

const (
	worldTenant = "0192f0c1-7a3e-7c55-9b3a-4d1f0e5a6b70"
	testWorld   = "north-7"
)

// world is the coordinator of one world, in memory and without a network, so that a
// test decides what goes wrong on the way and waiting costs no time.
type world struct {
	mu        sync.Mutex
	lines     []string // the journal
	hash      [32]byte
	written   map[string]int64 // positions by entry id
	epoch     int64
	secret    string // "" while the coordinator holds
	request   string // that the lease was acquired with
	term      time.Duration
	expires   time.Time
	by        time.Time // to be activated
	activated bool
	granted   int64 // position
	heldUntil time.Time
	line      bool // somebody else waits in it

	asked map[string][]time.Time // when requests came, by their last word
	waits []int64                // what acquisitions asked for
	goes  func(op string, n int) mishap
}

// mishap is what happens to a request.
type mishap struct {
	way, back time.Duration // how long request and answer take
	unsent    bool          // it doesn't arrive
	lost      bool          // its answer doesn't
	refuse    string        // the code of another answer, where it would have been carried out
	status    int
	after     string // seconds
}

var errNetwork = errors.New("connection reset")

func newWorld() *world {
	w := &world{written: map[string]int64{}, asked: map[string][]time.Time{}, epoch: 1, hash: sha256.Sum256([]byte("holdfast-journal-v1\n" + worldTenant + "\n" + testWorld + "\n"))}
	w.note("world_created", "", nil, nil)
	return w
}

// note appends an entry. What is marshalled here is canonical as it is.
func (w *world) note(kind, id string, details map[string]any, payload json.RawMessage) {
	entry := map[string]any{
		"position": len(w.lines) + 1, "epoch": w.epoch, "kind": kind, "at": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		"actor": map[string]any{"type": "principal", "issuer": "holdfast", "subject": "p1"},
	}
	entry["details"] = map[string]any{}
	if details != nil {
		entry["details"] = details
	}
	if id != "" {
		entry["entry_id"] = id
		w.written[id] = int64(len(w.lines) + 1)
	}
	header, _ := json.Marshal(entry)
	digest := sha256.Sum256(payload)
	w.hash = sha256.Sum256(bytes.Join([][]byte{w.hash[:], header, digest[:]}, nil))
	entry["digest"], entry["hash"] = hex.EncodeToString(digest[:]), hex.EncodeToString(w.hash[:])
	if payload != nil {
		entry["json"] = payload
	}
	line, _ := json.Marshal(entry)
	w.lines = append(w.lines, string(line))
}

// change makes another writer.
func (w *world) change(kind, secret string) {
	w.epoch++
	w.note(kind, "", map[string]any{"epoch": w.epoch}, nil)
	w.secret, w.granted, w.activated = secret, int64(len(w.lines)), secret == ""
}

// revoke takes the lease from its holder.
func (w *world) revoke() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change("lease_granted", "")
}

// Do answers one request. Time passes while nothing is locked.
func (w *world) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/oauth/token") {
		return answer(200, map[string]any{"access_token": "t", "token_type": "Bearer", "expires_in": 86400}), nil
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	op := path.Base(r.URL.Path)
	if r.Method == http.MethodGet {
		op = "read"
	}
	w.mu.Lock()
	w.asked[op] = append(w.asked[op], time.Now())
	var m mishap
	if w.goes != nil {
		m = w.goes(op, len(w.asked[op]))
	}
	w.mu.Unlock()
	if err := sleep(r, m.way); err != nil {
		return nil, err
	}
	if m.unsent {
		return nil, errNetwork
	}
	var response *http.Response
	if m.refuse != "" {
		response = problem(m.status, m.refuse, m.after, nil)
	} else {
		w.mu.Lock()
		response = w.serve(op, r, body)
		w.mu.Unlock()
	}
	if err := sleep(r, m.back); err != nil {
		return nil, err
	}
	if m.lost {
		return nil, errNetwork
	}
	return response, nil
}

func sleep(r *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return r.Context().Err()
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func answer(status int, value any) *http.Response {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	recorder.WriteHeader(status)
	json.NewEncoder(recorder).Encode(value)
	return recorder.Result()
}

func problem(status int, code, retryAfter string, members map[string]any) *http.Response {
	all := map[string]any{"code": code, "status": status, "detail": "D.", "title": "T", "type": "urn:holdfast:problem:" + code, "request_id": "r1"}
	for name, value := range members {
		all[name] = value
	}
	response := answer(status, all)
	if retryAfter != "" {
		response.Header.Set("Retry-After", retryAfter)
	}
	return response
}

func (w *world) serve(op string, r *http.Request, body []byte) *http.Response {
	if w.secret != "" && !time.Now().Before(w.expires) {
		w.change("lease_granted", "")
	}
	switch op {
	case "read":
		after, _ := strconv.Atoi(r.URL.Query().Get("after"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		page := w.lines[after:min(after+limit, len(w.lines))]
		response := answer(200, nil)
		response.Body = io.NopCloser(strings.NewReader(fmt.Sprintf(`{"entries":[%s],"position":%d,"more":true}`, strings.Join(page, ","), len(w.lines))))
		return response
	case "acquire":
		return w.acquire(body)
	}
	if r.Header.Get("Holdfast-Lease") != fmt.Sprintf("%d.%s", w.epoch, w.secret) {
		code := "fenced"
		if w.expires.Before(time.Now()) {
			code = "lease_expired"
		}
		return problem(409, code, "", map[string]any{"epoch": w.epoch, "holder": map[string]any{"type": "coordinator"}})
	}
	switch op {
	case "activate":
		return w.activate(body)
	case "renew":
		w.expires = time.Now().Add(w.term)
		if !w.activated && w.expires.After(w.by) {
			w.expires = w.by
		}
		return answer(200, map[string]any{"world_id": testWorld, "epoch": w.epoch, "remaining_ms": time.Until(w.expires).Milliseconds()})
	case "handoff":
		if strings.Contains(string(body), "next") && !w.line {
			return problem(409, "nobody_waits", "", nil)
		}
		w.change("lease_handed_off", "")
		return answer(200, map[string]any{"world_id": testWorld, "epoch": w.epoch})
	default:
		return w.append(body)
	}
}

func (w *world) acquire(body []byte) *http.Response {
	var asked holdfast.LeaseRequest
	json.Unmarshal(body, &asked)
	var wait int64
	if asked.WaitSeconds != nil {
		wait = *asked.WaitSeconds
	}
	w.waits = append(w.waits, wait)
	if until := time.Now().Add(time.Duration(wait) * time.Second); w.heldUntil.After(until) {
		w.mu.Unlock()
		time.Sleep(time.Until(until))
		w.mu.Lock()
		return problem(409, "lease_held", "30", nil)
	} else if wait > 0 {
		w.mu.Unlock()
		time.Sleep(max(time.Until(w.heldUntil), 0))
		w.mu.Lock()
	}
	if w.secret == "" || w.request != asked.RequestID {
		w.term, w.by = 30*time.Second, time.Now().Add(time.Minute)
		if asked.TermSeconds != nil {
			w.term = time.Duration(*asked.TermSeconds) * time.Second
		}
		if asked.ActivateWithinSeconds != nil {
			w.by = time.Now().Add(time.Duration(*asked.ActivateWithinSeconds) * time.Second)
		}
		w.request, w.expires = asked.RequestID, time.Now().Add(w.term)
		w.change("lease_handed_off", "secret")
	}
	return answer(200, map[string]any{
		"world_id": testWorld, "epoch": w.epoch, "secret": w.secret, "handoff_position": w.granted, "activated": w.activated,
		"term_seconds": int64(w.term / time.Second), "remaining_ms": time.Until(w.expires).Milliseconds(),
	})
}

func (w *world) activate(body []byte) *http.Response {
	var asked holdfast.LeaseActivation
	json.Unmarshal(body, &asked)
	var there struct{ Hash string }
	json.Unmarshal([]byte(w.lines[w.granted-1]), &there)
	if asked.ReplayedPosition != w.granted || asked.ChainHash != there.Hash {
		return problem(409, "replay_mismatch", "", nil)
	}
	w.activated = true
	return answer(200, map[string]any{"world_id": testWorld, "epoch": w.epoch, "remaining_ms": time.Until(w.expires).Milliseconds()})
}

func (w *world) append(body []byte) *http.Response {
	var asked holdfast.NewEntries
	json.Unmarshal(body, &asked)
	if !w.activated {
		return problem(409, "lease_not_activated", "", nil)
	}
	status := 201
	var positions []int64
	for _, e := range asked.Entries {
		if w.written[e.EntryID] == 0 {
			w.note("entry", e.EntryID, map[string]any{"format": "json"}, e.JSON)
		} else {
			status = 200
		}
		positions = append(positions, w.written[e.EntryID])
	}
	return answer(status, map[string]any{"world_id": testWorld, "epoch": w.epoch, "positions": positions, "replayed": status == 200})
}

// client is one that Connect made.
func (w *world) client(t *testing.T) *holdfast.ClientWithResponses {
	t.Helper()
	client, err := holdfast.Connect("https://holdfast.test", testKey, holdfast.WithHTTPDoer(w))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// times is how often something was asked for.
func (w *world) times(op string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked[op])
}

func (w *world) expiry() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.expires
}

// ours is the entries with ids.
func (w *world) ours() int { return len(w.written) }

func (w *world) free() bool { return w.secret == "" }
