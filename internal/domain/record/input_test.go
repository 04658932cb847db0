package record

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var (
	badKeys  = []string{"", ".", "..", "a\x00b", "\xff", "a\xc3", "\xed\xa0\x80", strings.Repeat("k", MaxKey+1), strings.Repeat("é", MaxKey/2) + "k"}
	badTexts = []string{"", "a\x00b", "\xff", "é", "a\n", "\x7f", strings.Repeat("t", maxText+1)}
	goodKeys = []string{"...", "/", "a/b//../c", " ", "\t\r\n\x01\x7f", "é\u202e", "%00", "a?b#c", "'; DROP", strings.Repeat("k", MaxKey), strings.Repeat("é", MaxKey/2), "\ufffd"}
)

// What is wrong with a publication is said, by a code and the place, and nothing
// of it is kept: in none of the databases and not in the store.
func TestPublish_BadInput_IsNamedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		k.publish(t, c, items("stands", "stands"))
		type bad struct {
			p        Publication
			kind     domain.Kind
			code, at string
		}
		good := func(change func(p *Publication)) Publication {
			p := items("a", "body")
			p.OperationID = k.operation()
			change(&p)
			return p
		}
		tooLarge := make([]byte, k.limits.Body+1)
		half := make([]byte, k.limits.Body)
		all := map[string]bad{
			"no operation id":     {good(func(p *Publication) { p.OperationID = "" }), domain.KindInvalid, "operation_id_invalid", "/operation_id"},
			"no sections":         {good(func(p *Publication) { p.Bodies = nil }), domain.KindInvalid, "sections_missing", "/sections"},
			"unknown section":     {good(func(p *Publication) { p.Bodies["a/b~"] = nil }), domain.KindInvalid, "section_unknown", "/sections/a~1b~0"},
			"unknown tombstone":   {good(func(p *Publication) { p.Tombstones = []string{"\xff"} }), domain.KindInvalid, "section_unknown", "/tombstones/0"},
			"section with NUL":    {good(func(p *Publication) { p.Bodies["a\x00"] = nil }), domain.KindInvalid, "section_unknown", "/sections/a\x00"},
			"written and gone":    {good(func(p *Publication) { p.Tombstones = []string{"items"} }), domain.KindInvalid, "section_twice", "/tombstones"},
			"gone twice":          {good(func(p *Publication) { p.Tombstones = []string{"plans", "plans"} }), domain.KindInvalid, "section_twice", "/tombstones"},
			"two primaries":       {good(func(p *Publication) { p.Bodies["closed"] = nil }), domain.KindInvalid, "primaries_exclusive", "/sections"},
			"companion alone":     {good(func(p *Publication) { p.Bodies = map[string][]byte{"plans": nil} }), domain.KindConflict, "primary_missing", ""},
			"wrong companion":     {good(func(p *Publication) { p.Bodies = map[string][]byte{"closed": nil, "plans": nil} }), domain.KindConflict, "primary_missing", ""},
			"tombstones alone":    {good(func(p *Publication) { p.Bodies, p.Tombstones = nil, []string{"items"} }), domain.KindNotFound, "record_not_found", ""},
			"large body":          {good(func(p *Publication) { p.Bodies["items"] = tooLarge }), domain.KindTooLarge, "bodies_too_large", "/sections/items"},
			"no expectation":      {good(func(p *Publication) { p.Expect = Expectation{} }), domain.KindPreconditionRequired, "precondition_required", ""},
			"two expectations":    {good(func(p *Publication) { p.Expect.Revision = 1 }), domain.KindInvalid, "precondition_ambiguous", ""},
			"no digests":          {good(func(p *Publication) { p.Expect = Expectation{Digests: map[string]*Digest{}} }), domain.KindPreconditionRequired, "precondition_required", ""},
			"unknown expectation": {good(func(p *Publication) { p.Expect = Expectation{Digests: map[string]*Digest{"nothing": nil}} }), domain.KindInvalid, "section_unknown", "/expect/nothing"},
			"negative revision":   {good(func(p *Publication) { p.Key, p.Expect = "stands", Expectation{Revision: -1} }), domain.KindPreconditionFailed, "revision_stale", ""},
			"huge revision":       {good(func(p *Publication) { p.Key, p.Expect = "stands", Expectation{Revision: math.MaxInt64} }), domain.KindPreconditionFailed, "revision_stale", ""},
			"fence of 0":          {good(func(p *Publication) { p.Expect = Expectation{Fence: &Fence{"f", 0}} }), domain.KindInvalid, "fence_invalid", "/fence"},
			"fence below 0":       {good(func(p *Publication) { p.Expect = Expectation{Fence: &Fence{"f", math.MinInt64}} }), domain.KindInvalid, "fence_invalid", "/fence"},
			"fence of 2^53":       {good(func(p *Publication) { p.Expect = Expectation{Fence: &Fence{"f", 1 << 53}} }), domain.KindInvalid, "fence_invalid", "/fence"},
			"claim of nothing":    {good(func(p *Publication) { p.Claim = &Claim{"b", math.MaxInt64} }), domain.KindConflict, "claim_lost", ""},
			"claim below 0":       {good(func(p *Publication) { p.Claim = &Claim{"b", -1} }), domain.KindConflict, "claim_lost", ""},
		}
		for i, key := range badKeys {
			all[fmt.Sprint("key ", i)] = bad{good(func(p *Publication) { p.Key = key }), domain.KindInvalid, "item_key_invalid", "/key"}
		}
		for i, text := range badTexts {
			all[fmt.Sprint("operation id ", i)] = bad{good(func(p *Publication) { p.OperationID = text }), domain.KindInvalid, "operation_id_invalid", "/operation_id"}
			all[fmt.Sprint("fence ", i)] = bad{good(func(p *Publication) { p.Expect = Expectation{Fence: &Fence{text, 1}} }), domain.KindInvalid, "fence_invalid", "/fence"}
			all[fmt.Sprint("batch ", i)] = bad{good(func(p *Publication) { p.Claim = &Claim{text, 1} }), domain.KindInvalid, "batch_id_invalid", "/batch/batch_id"}
			if text != "" {
				all[fmt.Sprint("producer ", i)] = bad{good(func(p *Publication) { p.Producer = text }), domain.KindInvalid, "producer_invalid", "/producer"}
			}
		}
		puts := k.faults.Count("PUT")
		k.expectUnchanged(t, c, func() {
			for name, b := range all {
				t.Run(name, func(t *testing.T) {
					_, err := k.Publish(t.Context(), k.scope, c, nil, b.p)
					expectCode(t, err, b.kind, b.code)
					expectAt(t, err, b.at)
				})
			}
		})
		if n := k.faults.Count("PUT") - puts; n != 0 {
			t.Errorf("%d uploads", n)
		}
		// All live bodies of a record count, those that stand too.
		wide := Profile{Primaries: []string{"p"}, Companions: map[string][]string{}}
		for i := range 4 {
			wide.Companions[fmt.Sprint("c", i)] = []string{"p"}
		}
		if _, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "wide", Profile: &wide}); err != nil {
			t.Fatal(err)
		}
		k.publish(t, "wide", Publication{Key: "a", Bodies: map[string][]byte{"p": half, "c0": half, "c1": half, "c2": half}, Expect: Expectation{Absent: true}})
		k.expectUnchanged(t, "wide", func() {
			_, err := k.Publish(t.Context(), k.scope, "wide", nil, Publication{Key: "a", OperationID: "o", Bodies: map[string][]byte{"c3": {1}}, Expect: Expectation{Revision: 1}})
			expectCode(t, err, domain.KindTooLarge, "bodies_too_large")
		})
		k.publish(t, "wide", Publication{Key: "a", Bodies: map[string][]byte{"c3": {1}}, Tombstones: []string{"c2"}, Expect: Expectation{Revision: 1}})
	})
}

func expectAt(t *testing.T, err error, pointer string) {
	t.Helper()
	var refusal *domain.Error
	if !errors.As(err, &refusal) || pointer == "" {
		return
	}
	if len(refusal.Fields) != 1 || refusal.Fields[0].Pointer != pointer {
		t.Errorf("at %q, want %q", refusal.Fields, pointer)
	}
}

// Keys are exact: any text is one, but for what a path can't carry.
func TestKeys_AreExact(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	for _, key := range goodKeys {
		k.publish(t, c, items(key, key))
	}
	for _, key := range goodKeys {
		if got := k.body(t, c, key, "items"); got != key {
			t.Errorf("under %q there is %q", key, got)
		}
	}
	var got []string
	for after := ""; ; {
		page, err := k.Records(t.Context(), k.scope, c, Filter{}, after, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			got = append(got, r.Key)
		}
		if after = page.Last; !page.More {
			break
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(goodKeys)), got); diff != "" {
		t.Errorf("the list, in the order of bytes (-want +got)\n%s", diff)
	}
}

// Whatever text a reader asks for, it is found or it isn't.
func TestReads_BadInput_IsNotThere(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "body"))
	for _, key := range append([]string{"b", "A", "a ", "a\x00"}, badKeys...) {
		_, err := k.Record(t.Context(), k.scope, c, key)
		expectCode(t, err, domain.KindNotFound, "record_not_found")
		_, err = k.RecordWithBodies(t.Context(), k.scope, c, key)
		expectCode(t, err, domain.KindNotFound, "record_not_found")
		_, err = k.Body(t.Context(), k.scope, c, key, "items")
		expectCode(t, err, domain.KindNotFound, "record_not_found")
		_, err = k.Presign(t.Context(), k.scope, c, key, "items")
		expectCode(t, err, domain.KindNotFound, "record_not_found")
		if key != "" && slices.Contains(badKeys, key) {
			_, err = k.Records(t.Context(), k.scope, c, Filter{}, key, 10)
			expectCode(t, err, domain.KindInvalid, "cursor_invalid")
		}
	}
	for _, section := range []string{"", "a\x00", "\xff", "ITEMS", "nothing"} {
		_, err := k.Body(t.Context(), k.scope, c, "a", section)
		expectCode(t, err, domain.KindNotFound, "section_not_found")
		if section != "" {
			_, err = k.Export(t.Context(), k.scope, c, ExportRequest{Section: section})
			expectCode(t, err, domain.KindInvalid, "section_unknown")
		}
	}
	for _, text := range badTexts {
		_, err := k.StoredReceipt(t.Context(), k.scope, c, text)
		expectCode(t, err, domain.KindNotFound, "receipt_not_found")
		_, err = k.Batch(t.Context(), k.scope, c, text)
		expectCode(t, err, domain.KindNotFound, "batch_not_found")
		_, err = k.Heartbeat(t.Context(), k.scope, c, nil, text, []ClaimedItem{{"a", 1}}, 0)
		expectCode(t, err, domain.KindNotFound, "batch_not_found")
		if text != "" {
			_, err = k.Collections(t.Context(), k.scope, text, 10)
			expectCode(t, err, domain.KindInvalid, "cursor_invalid")
		}
	}
	_, err := k.Export(t.Context(), k.scope, c, ExportRequest{After: math.MaxInt64})
	expectCode(t, err, domain.KindInvalid, "cursor_ahead")
	for _, after := range []int64{-1, math.MinInt64, 1} {
		page, err := k.Export(t.Context(), k.scope, c, ExportRequest{After: after, Limit: math.MaxInt})
		if err != nil || page.More || len(page.Records) != map[bool]int{true: 1}[after < 0] || page.Next != max(after, 1) {
			t.Errorf("behind %d there is %+v, %v", after, page, err)
		}
	}
}

func TestBatches_BadInput_IsNamedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	generation := k.take(t, c, "b", "x")["x"]
	many := make([]string, MaxBatchItems+1)
	for i := range many {
		many[i] = fmt.Sprint("key-", i)
	}
	claims := map[string]ClaimBatch{
		"term_invalid short":         {ID: "c", Owner: "w", Items: []string{"a"}, Term: time.Second},
		"term_invalid long":          {ID: "c", Owner: "w", Items: []string{"a"}, Term: MaxBatchTerm + 1},
		"term_invalid below 0":       {ID: "c", Owner: "w", Items: []string{"a"}, Term: -time.Minute},
		"batch_items_invalid none":   {ID: "c", Owner: "w"},
		"batch_items_invalid many":   {ID: "c", Owner: "w", Items: many},
		"batch_items_invalid more":   {ID: "b", Owner: "worker", Items: many[1:]}, // than fit beside x
		"item_key_invalid among all": {ID: "c", Owner: "w", Items: []string{"a", "\x00"}},
	}
	for i, text := range badTexts {
		claims[fmt.Sprint("batch_id_invalid ", i)] = ClaimBatch{ID: text, Owner: "w", Items: []string{"a"}}
		claims[fmt.Sprint("batch_owner_invalid ", i)] = ClaimBatch{ID: "c", Owner: text, Items: []string{"a"}}
	}
	good := claimed("x", "b", generation)
	completions := map[string]CompleteBatch{
		"operation_id_invalid no id":           {Items: []Publication{good}},
		"items_missing none":                   {OperationID: "all"},
		"completion_invalid without a claim":   {OperationID: "all", Items: []Publication{items("x", "x")}},
		"completion_invalid the operation's":   {OperationID: good.OperationID, Items: []Publication{good}},
		"item_key_twice one":                   {OperationID: "all", Items: []Publication{good, good}},
		"section_unknown one":                  {OperationID: "all", Items: []Publication{{Key: "x", OperationID: "x", Bodies: map[string][]byte{"z": nil}, Expect: Expectation{Absent: true}, Claim: &Claim{Generation: generation}}}},
		"bodies_too_large all that is allowed": {OperationID: "all", Items: slices.Repeat([]Publication{{Bodies: map[string][]byte{"items": make([]byte, 2<<20)}, Claim: &Claim{}}}, 5)},
	}
	k.expectUnchanged(t, c, func() {
		for _, name := range slices.Sorted(maps.Keys(claims)) {
			_, err := k.Claim(t.Context(), k.scope, c, nil, claims[name])
			if code, _, _ := strings.Cut(name, " "); domain.CodeOf(err) != code {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(completions)) {
			_, err := k.Complete(t.Context(), k.scope, c, nil, "b", completions[name])
			if code, _, _ := strings.Cut(name, " "); domain.CodeOf(err) != code {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, beat := range map[string][]ClaimedItem{"none": nil, "twice": {{"x", 1}, {"x", 2}}, "key": {{"\xff", 1}}} {
			_, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b", beat, 0)
			if domain.KindOf(err) != domain.KindInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		beaten, err := k.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"x", math.MaxInt64}, {"y", -1}}, 0)
		want := []BatchItem{{Key: "x", State: ItemLeaseExpired, Generation: math.MaxInt64}, {Key: "y", State: ItemLeaseExpired, Generation: -1}}
		if diff := cmp.Diff(want, beaten, cmpopts.IgnoreFields(BatchItem{}, "ExpiresAt")); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		_, err = k.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"x", generation}}, MaxBatchTerm+1)
		expectCode(t, err, domain.KindInvalid, "term_invalid")
	})
}
