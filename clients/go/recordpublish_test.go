package holdfast_test

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var small = holdfast.RecordChange{IfRevision: 1, Sections: map[string][]byte{"items": []byte("new"), "plans": nil}}

// large is sent as parts.
func large() holdfast.RecordChange {
	return holdfast.RecordChange{IfRevision: 1, Sections: map[string][]byte{"items": bytes.Repeat([]byte("\x00\xffx"), 1<<20), "plans": {}}}
}

func TestPublish_TheSameIsSentUnderOneIDUntilThereIsAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mishap
		replayed bool
	}{
		"never arrived":       {mishap{unsent: true}, false},
		"the answer was lost": {mishap{lost: true}, true},
		"no answer comes":     {mishap{way: time.Hour}, false},
		"outcome unknown":     {mishap{refuse: "outcome_unknown", status: 503, after: "1"}, false},
		"busy":                {mishap{refuse: "overloaded", status: 503, after: "2"}, false},
		"too often":           {mishap{refuse: "rate_limited", status: 429, after: "40"}, false},
		"a broken proxy":      {mishap{status: 502}, true},
	} {
		for size, change := range map[string]holdfast.RecordChange{"small": small, "large": large()} {
			t.Run(name+" "+size, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newShelf()
					s.goes = func(_ string, n int) trouble {
						if n > 6 { // more often than the client tries by itself
							return trouble{}
						}
						return trouble{mishap: c.mishap, spoil: brokenProxy(c.status == 502)}
					}
					published, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", change)
					if err != nil || published.Replayed != c.replayed || published.Revision != 2 || published.Outcome != holdfast.OutcomePublished || s.revision != 2 {
						t.Errorf("%+v, %v; the record is at revision %d", published, err, s.revision)
					}
					for i, sent := range s.sent {
						if sent != s.sent[0] {
							t.Errorf("try %d sent something else than the first", i+1)
						}
					}
					if len(s.sent) != 7 || !bytes.Equal(s.bodies["items"], change.Sections["items"]) || s.bodies["plans"] == nil {
						t.Errorf("%d tries brought %d bytes", len(s.sent), len(s.bodies["items"]))
					}
				})
			})
		}
	}
}

// brokenProxy answers instead of the service, which has done its work.
func brokenProxy(is bool) func(*httptest.ResponseRecorder) {
	if !is {
		return nil
	}
	return func(w *httptest.ResponseRecorder) {
		*w = *httptest.NewRecorder()
		w.WriteHeader(502)
	}
}

func TestPublish_SmallBodiesGoInJSONAndLargeOnesAsParts(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]holdfast.RecordChange{"application/json": small, "multipart/form-data; boundary=": large()} {
		s := newShelf()
		change.Expect, change.Tombstones, change.Producer = map[string]string{"closed": "", "items": digest([]byte("hello"))}, []string{"closed"}, "importer"
		change.Fence, change.Batch, change.Lease = &holdfast.NewFence{Key: "f", Revision: 7}, &holdfast.BatchClaim{BatchID: "b", Generation: 4}, "3.secret"
		if _, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", change); err != nil {
			t.Fatal(err)
		}
		r := s.seen[0]
		if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, want) || r.ContentLength != int64(len(s.sent[0])) {
			t.Errorf("%d bytes of %s were sent, of which it said %d", len(s.sent[0]), kind, r.ContentLength)
		}
		if r.Header.Get("Holdfast-Lease") != "3.secret" || r.Header.Get("If-Match") != `"1"` || r.Header.Get("If-None-Match") != "" {
			t.Errorf("the headers are %v", r.Header)
		}
		p, bodies := publicationIn(r, []byte(s.sent[0]))
		p.Sections = nil
		wanted := holdfast.Publication{
			OperationID: p.OperationID, Producer: ptr("importer"), Tombstones: &[]string{"closed"}, Fence: change.Fence, Batch: change.Batch,
			Expect: &holdfast.ExpectedDigests{"closed": nil, "items": ptr(digest([]byte("hello")))},
		}
		if diff := cmp.Diff(wanted, p); diff != "" || p.OperationID == "" || len(bodies) != 2 {
			t.Errorf("sent with %d bodies (-want +got):\n%s", len(bodies), diff)
		}
	}
}

func TestPublish_AnIDOfTheCallersFindsWhatAnEarlierRunDid(t *testing.T) {
	t.Parallel()
	s := newShelf()
	change := small
	change.OperationID = "order-1"
	var receipts []holdfast.Receipt
	for _, replayed := range []bool{false, true} {
		published, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", change)
		if err != nil || published.Replayed != replayed {
			t.Fatalf("%+v, %v", published, err)
		}
		receipts = append(receipts, published.Receipt)
	}
	if diff := cmp.Diff(receipts[0], receipts[1]); diff != "" {
		t.Errorf("the receipts differ:\n%s", diff)
	}
}

func TestPublish_AConflictShowsTheRecordAsItStands(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.revision = 7
	change := small
	change.ConflictBodies = true
	_, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", change)
	var conflict *holdfast.RecordConflictError
	if !errors.As(err, &conflict) || !holdfast.IsCode(err, "revision_stale") || conflict.Record.Revision != 7 || string(*conflict.Record.Sections["items"].Body) != "hello" {
		t.Errorf("%v", err)
	}
	if !strings.Contains(err.Error(), "revision 7") || s.times("put") != 1 {
		t.Errorf("%v after %d tries", err, s.times("put"))
	}
}

func TestPublish_BodiesOfAConflictAreVerified(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.revision = 7
	s.goes = func(string, int) trouble { return trouble{spoil: otherBytes} }
	change := small
	change.ConflictBodies = true
	_, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", change)
	var conflict *holdfast.RecordConflictError
	var unverified *holdfast.UnverifiedBodyError
	if errors.As(err, &conflict) || !errors.As(err, &unverified) || !holdfast.IsCode(err, "revision_stale") {
		t.Errorf("%v", err)
	}
}

// otherBytes puts "jello" where "hello" was, in base64 or not.
func otherBytes(w *httptest.ResponseRecorder) {
	text := w.Body.String()
	w.Body.Reset()
	w.Body.WriteString(strings.NewReplacer("aGVsbG8", "amVsbG8", "hello", "jello").Replace(text))
}

func TestPublish_ARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{"fenced": 409, "claim_lost": 409, "operation_id_reused": 409, "bodies_too_large": 413, "section_unknown": 422, "internal": 500, "insufficient_scope": 403} {
		s := newShelf()
		s.goes = func(string, int) trouble { return trouble{mishap: mishap{refuse: code, status: status}} }
		_, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", small)
		if !holdfast.IsCode(err, code) || s.times("put") != 1 {
			t.Errorf("%v after %d tries", err, s.times("put"))
		}
	}
}

func TestPublish_TheCallersTimeIsTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.goes = func(string, int) trouble { return trouble{mishap: mishap{unsent: true}} }
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		began := time.Now()
		_, err := holdfast.Publish(ctx, s.client(t), "orders", "k", small)
		if took := time.Since(began); !errors.Is(err, errNetwork) || took < 9*time.Minute || took > 10*time.Minute || s.times("put") < 20 {
			t.Errorf("%v in %v after %d tries", err, took, s.times("put"))
		}
	})
}

func TestPublish_AReceiptOfOtherBytesIsAnError(t *testing.T) {
	t.Parallel()
	s := newShelf()
	s.goes = func(string, int) trouble {
		return trouble{spoil: func(w *httptest.ResponseRecorder) {
			text := w.Body.String()
			w.Body.Reset()
			w.Body.WriteString(strings.ReplaceAll(text, digest([]byte("new")), digest([]byte("old"))))
		}}
	}
	if _, err := holdfast.Publish(t.Context(), s.client(t), "orders", "k", small); err == nil {
		t.Error("it took the receipt")
	}
}

func TestPublish_NeedsAClientOfConnects(t *testing.T) {
	t.Parallel()
	client, err := holdfast.NewClientWithResponses("https://holdfast.test", holdfast.WithHTTPClient(newShelf()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holdfast.Publish(t.Context(), client, "orders", "k", small); err == nil {
		t.Error("it took another")
	}
}
