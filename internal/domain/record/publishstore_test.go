package record

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// impatient is a process that asks the bucket twice and no more.
func (k *keeper) impatient(t testing.TB) *keeper {
	t.Helper()
	s := k.faults.Through(testkit.BodyStore(t))
	s.MaxAttempts = 2
	other := *k
	other.Service = New(k.router, lease.New(k.router, testSecrets("server"), lease.Options{}), testkit.OpenBodies(t, s), Options{})
	return &other
}

// expectUnchanged does what must change nothing of a collection.
func (k *keeper) expectUnchanged(t testing.TB, collection string, do func()) {
	t.Helper()
	before := k.stateOf(t, collection)
	do()
	if behind := k.stateOf(t, collection); !behind.equal(before) {
		t.Errorf("it has changed: %s", behind.differs(before))
	}
}

func items(key, body string) Publication {
	return Publication{Key: key, Bodies: map[string][]byte{"items": []byte(body)}, Expect: Expectation{Absent: true}}
}

// bucket is the bucket itself, by a way without faults.
func (k *keeper) bucket(t testing.TB) *objectstore.Bucket {
	return testkit.OpenBodies(t, testkit.BodyStore(t))
}

// object is the key of a body in the bucket.
func (k *keeper) object(t testing.TB, collection, body string) string {
	t.Helper()
	c, err := k.Collection(t.Context(), k.scope, collection)
	if err != nil {
		t.Fatal(err)
	}
	return bodyKey(k.scope.Tenant, c.ID, sha256.Sum256([]byte(body)), 0)
}

// R1, R2 and what passes of R3: a publication waits for what passes by itself, and
// is made once. Of "429 on HEAD" there is nothing to test: a publication sends no
// HEAD, only the probe of the bucket does.
func TestPublish_OvercomesWhatPassesInTheStore(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]map[string][]testkit.Fault{
		"the answer to the upload is lost":  {"PUT": {testkit.LostAnswer()}},
		"the upload is lost":                {"PUT": {testkit.LostRequest()}},
		"409 once":                          {"PUT": {testkit.Refuse(409, "ConditionalRequestConflict", 0)}},
		"429 on both":                       {"PUT": {testkit.Refuse(429, "TooManyRequests", 0)}, "GET": {testkit.Refuse(429, "TooManyRequests", 0)}},
		"503 twice":                         {"PUT": {testkit.Refuse(503, "SlowDown", 0), testkit.Refuse(503, "SlowDown", 0)}},
		"the proof fails at 60 %":           {"GET": {testkit.CutAt(0.6)}},
		"the proof is short, without a sum": {"GET": {testkit.ShortAnswer(0.6)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, FormatStore)
			c := k.collection(t, "orders")
			for method, faults := range on {
				k.faults.On(method, faults...)
			}
			k.publish(t, c, items("a", "the body"))
			if got := k.body(t, c, "a", "items"); got != "the body" {
				t.Errorf("published %q", got)
			}
			want := "sequence 1, records 1, sections_in_sql 0, section_chunks 0, sections_in_store 1, export_entries 1, receipts 1, fences 0"
			if got := k.rows(t, c); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// R3 and R4, and a 409 that stays: what isn't proven to be in the store commits
// nothing, and the fault is the store's in every answer. Once it is over, the same
// operation is made.
func TestPublish_CommitsNothingThatTheStoreDoesNotProve(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "what stands"))
	impatient := k.impatient(t)
	for name, f := range map[string]struct {
		method string
		fault  testkit.Fault
		code   string
		times  int
	}{
		"the source fails at 60 %":   {"GET", testkit.CutAt(0.6), "object_store_unavailable", 2},
		"short with a length":        {"GET", testkit.CutAt(0), "object_store_unavailable", 2},
		"short without a length":     {"GET", testkit.ShortAnswer(0.6), "object_store_unavailable", 2},
		"409 and 409":                {"PUT", testkit.Refuse(409, "ConditionalRequestConflict", 0), "object_store_unavailable", 2},
		"503 and 503":                {"PUT", testkit.Refuse(503, "SlowDown", 0), "object_store_unavailable", 2},
		"refused":                    {"PUT", testkit.Refuse(403, "AccessDenied", 0), "object_store_unavailable", 1},
		"wrong bytes of that length": {"GET", testkit.WrongBytes(), "body_unavailable", 1},
	} {
		p := items("a", "new by "+name)
		p.Expect, p.OperationID = Expectation{Revision: 1}, k.operation()
		k.expectUnchanged(t, c, func() {
			for range f.times {
				k.faults.On(f.method, f.fault)
			}
			_, err := impatient.Publish(t.Context(), k.scope, c, nil, p)
			expectCode(t, err, domain.KindUnavailable, f.code)
		})
		if _, err := k.StoredReceipt(t.Context(), k.scope, c, p.OperationID); domain.CodeOf(err) != "receipt_not_found" {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := items("a", "new in the end")
	p.Expect, p.OperationID = Expectation{Revision: 1}, "the same"
	k.faults.On("PUT", testkit.Refuse(503, "SlowDown", 0), testkit.Refuse(503, "SlowDown", 0))
	if _, err := impatient.Publish(t.Context(), k.scope, c, nil, p); err == nil {
		t.Error("published through a store that refuses")
	}
	if receipt := k.publish(t, c, p); receipt.Revision != 2 || receipt.Replayed {
		t.Errorf("published then as %+v", receipt)
	}
}

// R4.
func TestPublish_WrongBytesAtTheDigestsKey_AreRefused(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "what stands"))
	wrong := []byte("the bod?")
	if _, err := k.bucket(t).Ensure(t.Context(), k.object(t, c, "the body"), wrong, sha256.Sum256(wrong), false); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Publication{
		{Key: "a", Bodies: map[string][]byte{"items": []byte("the body")}, Expect: Expectation{Revision: 1}},
		{Key: "b", Bodies: map[string][]byte{"items": []byte("beside"), "plans": []byte("the body")}, Expect: Expectation{Absent: true}},
	} {
		k.expectUnchanged(t, c, func() {
			p.OperationID = k.operation()
			_, err := k.Publish(t.Context(), k.scope, c, nil, p)
			expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		})
	}
	if got := k.body(t, c, "a", "items"); got != "what stands" {
		t.Errorf("there stands %q", got)
	}
}

// R5: what another tenant has, and another collection, makes no difference: the
// body is uploaded under the caller's own keys, and only there.
func TestPublish_ADigestThatOthersHave_IsAsGoodAsUnknown(t *testing.T) {
	t.Parallel()
	a, b := newKeeper(t, FormatStore), newKeeper(t, FormatStore)
	for _, k := range []*keeper{a, b} {
		k.collection(t, "orders")
		k.collection(t, "others")
	}
	var asked [][]string
	for i, at := range []struct {
		k          *keeper
		collection string
	}{{a, "orders"}, {a, "others"}, {b, "orders"}} {
		before := len(at.k.faults.Requests())
		at.k.publish(t, at.collection, items(fmt.Sprint("key-", i), "shared by all"))
		var requests []string
		for _, r := range at.k.faults.Requests()[before:] {
			if !strings.Contains(r.URL, at.k.object(t, at.collection, "shared by all")) {
				t.Errorf("asked for %s", r.URL)
			}
			requests = append(requests, r.Method)
		}
		asked = append(asked, requests)
	}
	if diff := cmp.Diff([][]string{{"PUT", "GET"}, {"PUT", "GET"}, {"PUT", "GET"}}, asked); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
	// Where a descriptor of the collection's own stands, the object is read first.
	before := len(a.faults.Requests())
	a.publish(t, "orders", items("again", "shared by all"))
	if more := a.faults.Requests()[before:]; len(more) != 1 || more[0].Method != "GET" {
		t.Errorf("asked %+v for what is known", more)
	}
}

// R17.
func TestPublish_FivePercentOfFailures_LeaveNothingUndone(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.faults.AtRandom(7, 0.05, testkit.LostRequest(), testkit.LostAnswer(), testkit.Refuse(503, "SlowDown", 0),
		testkit.Refuse(409, "ConditionalRequestConflict", 0), testkit.CutAt(0.6), testkit.ShortAnswer(0.6), testkit.RefuseAfter(500, "InternalError"))
	var all []Publication
	for i := range 300 {
		p := items(fmt.Sprint("key-", i), fmt.Sprint("body ", i%100))
		p.OperationID = k.operation()
		if all = append(all, p); len(all) < MaxPublications {
			continue
		}
		made, err := k.PublishEach(t.Context(), k.scope, c, nil, all)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range made {
			if m.Err != nil || m.Receipt.Revision != 1 {
				t.Errorf("%s: %+v, %v", all[i].Key, m.Receipt, m.Err)
			}
		}
		all = nil
	}
	if lines := k.export(t, c, "", MaxExported); len(lines) != 300 {
		t.Errorf("%d sections in the export", len(lines))
	}
}
