package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// R21: one conflict among fifty leaves forty-nine published.
func TestPublish_AConflictLeavesItsNeighboursAlone(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "item-17", map[string]string{"items": "there"})
		all := holdfast.Publications{}
		for i := range 50 {
			body := fmt.Sprint("body ", i)
			all.Items = append(all.Items, holdfast.RecordPublication{
				Key: fmt.Sprint("item-", i), OperationID: fmt.Sprint("o-", i), IfAbsent: ptr(true),
				Sections: &holdfast.Sections{"items": {Body: []byte(body)}},
			})
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, again := range []bool{false, true} {
			var results holdfast.PublicationResults
			k.ask(t, "POST", "/publish", string(text)).into(t, &results)
			for i, r := range results.Items {
				switch {
				case r.Key != all.Items[i].Key:
					t.Errorf("%d is %s", i, r.Key)
				case i == 17:
					p := r.Problem
					if r.Outcome != "conflict" || p == nil || p.Code != "record_exists" || p.Record == nil || p.Record.Revision != 1 || r.Receipt != nil {
						t.Errorf("the conflict is %+v", r)
					}
				case r.Outcome != "published" || r.Receipt == nil || r.Receipt.Revision != 1 || r.Problem != nil || (r.Replayed != nil) != again:
					t.Errorf("%s is %+v", r.Key, r)
				}
			}
			if len(results.Items) != 50 {
				t.Errorf("%d results", len(results.Items))
			}
		}
		for i := range 50 {
			want := fmt.Sprint("body ", i)
			if i == 17 {
				want = "there"
			}
			if got := k.ask(t, "GET", bodyAt(fmt.Sprint("item-", i), "items"), ""); got.text() != want {
				t.Errorf("item-%d: %d %s", i, got.status, got.body)
			}
		}
	})
}

func TestPublish_EachHasAnOutcomeOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	fenced := func(operation string, revision int, body string) string {
		return fmt.Sprintf(`{"key":"f","operation_id":"%s","fence":{"key":"fence","revision":%d},"sections":{"items":{"body":"%s"}}}`, operation, revision, body)
	}
	outcomes := func(items ...string) string {
		var results holdfast.PublicationResults
		k.ask(t, "POST", "/publish", `{"items":[`+strings.Join(items, ",")+`]}`).into(t, &results)
		var all []string
		for _, r := range results.Items {
			if r.Problem != nil {
				r.Outcome += " " + r.Problem.Code
				if r.Problem.Errors != nil {
					r.Outcome += " " + (*r.Problem.Errors)[0].Pointer
				}
			}
			all = append(all, r.Outcome)
		}
		return strings.Join(all, ", ")
	}
	for _, c := range []struct{ item, want string }{
		{fenced("f1", 5, "YQ=="), "published"},
		{fenced("f2", 5, "YQ=="), "deduplicated"},
		{fenced("f3", 4, "Yg=="), "superseded"},
		{fenced("f4", 5, "Yg=="), "conflict fence_revision_reused"},
		{`{"key":"u","operation_id":"u","if_absent":true,"sections":{"unknown":{"body":""}}}`, "failed section_unknown /sections/unknown"},
		{`{"key":"g","operation_id":"g","if_revision":3,"tombstones":["items"]}`, "failed record_not_found"},
		{`{"key":"f","operation_id":"h","if_revision":3,"tombstones":["items"]}`, "conflict revision_stale"},
		{`{"key":"p","operation_id":"p","if_absent":true,"sections":{"plans":{"body":""}}}`, "conflict primary_missing"},
	} {
		if got := outcomes(c.item); got != c.want {
			t.Errorf("%s: %s, want %s", c.item, got, c.want)
		}
	}
	// What can be seen to be wrong without the records refuses all, with its place.
	good := `{"key":"good","operation_id":"good","if_absent":true,"sections":{"items":{"body":""}}}`
	for name, c := range map[string]struct{ item, code, pointer string }{
		"no precondition":       {`{"key":"x","operation_id":"x","sections":{"items":{"body":""}}}`, "precondition_required", "/items/1"},
		"absence that is false": {`{"key":"x","operation_id":"x","if_absent":false,"sections":{"items":{"body":""}}}`, "precondition_required", "/items/1"},
		"two preconditions":     {`{"key":"x","operation_id":"x","if_absent":true,"if_revision":1,"sections":{"items":{"body":""}}}`, "precondition_ambiguous", "/items/1"},
		"a bad key":             {`{"key":"..","operation_id":"x","if_absent":true,"sections":{"items":{"body":""}}}`, "item_key_invalid", "/items/1/key"},
		"the same key":          {`{"key":"good","operation_id":"x","if_absent":true,"sections":{"items":{"body":""}}}`, "item_key_twice", "/items/1/key"},
		"the same operation":    {`{"key":"x","operation_id":"good","if_absent":true,"sections":{"items":{"body":""}}}`, "operation_id_twice", "/items/1/operation_id"},
		"nothing":               {`{"key":"x","operation_id":"x","if_absent":true}`, "sections_missing", "/items/1/sections"},
	} {
		p := k.ask(t, "POST", "/publish", `{"items":[`+good+`,`+c.item+`]}`).problem(t)
		pointer := ""
		if p.Errors != nil {
			pointer = (*p.Errors)[0].Pointer
		}
		if p.Code != c.code || pointer != c.pointer {
			t.Errorf("%s: %s at %q, want %s at %q", name, p.Code, pointer, c.code, c.pointer)
		}
	}
	k.ask(t, "GET", at("good"), "").expectProblem(t, http.StatusNotFound, "record_not_found")
}

func TestExport_GoesOnBehindEachPageAndFollows(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for i := range 7 {
			k.create(t, fmt.Sprint("item-", i), map[string]string{"items": fmt.Sprint("body ", i), "plans": ""})
		}
		if changed := k.ask(t, "PUT", at("item-3"), publication("o", map[string]string{"closed": "done"}), `If-Match: "1"`); changed.status != http.StatusOK {
			t.Fatalf("%d %s", changed.status, changed.body)
		}
		read := func(query string, after int64) (seen []string, next int64) {
			for pages := 0; ; pages++ {
				var page holdfast.ExportPage
				k.ask(t, "GET", fmt.Sprintf("/export?after=%d&%s", after, query), "").into(t, &page)
				for _, e := range page.Records {
					if e.ExportSequence <= after {
						t.Errorf("%s of %s comes at %d, behind %d", e.Section, e.Key, e.ExportSequence, after)
					}
					after = e.ExportSequence
					body := "(no body)"
					if e.Body != nil {
						body = string(*e.Body)
					}
					seen = append(seen, fmt.Sprint(e.Key, " ", e.Section, " ", e.Live, " ", body))
				}
				if len(page.Records) == 0 && (page.More || pages > 0 && len(seen) > 0) {
					t.Error("a page before the last is empty")
				}
				if page.Next < after || page.ExportSequence != 17 {
					t.Errorf("the page of %d ends at %d of %d", after, page.Next, page.ExportSequence)
				}
				if after = page.Next; !page.More {
					return seen, after
				}
			}
		}
		seen, next := read("limit=3&include=bodies", 0)
		want := "item-0 items true body 0\nitem-0 plans true \nitem-1 items true body 1\nitem-1 plans true \nitem-2 items true body 2\nitem-2 plans true \n" +
			"item-4 items true body 4\nitem-4 plans true \nitem-5 items true body 5\nitem-5 plans true \nitem-6 items true body 6\nitem-6 plans true \n" +
			"item-3 closed true done\nitem-3 items false (no body)\nitem-3 plans false (no body)"
		if got := strings.Join(seen, "\n"); got != want || next != 17 {
			t.Errorf("exported to %d:\n%s", next, got)
		}
		if seen, next := read("section=closed", 0); strings.Join(seen, "\n") != "item-3 closed true (no body)" || next != 17 {
			t.Errorf("of the closed ones to %d: %q", next, seen)
		}
		if seen, next := read("limit=200", next); len(seen) != 0 || next != 17 {
			t.Errorf("behind the end to %d: %q", next, seen)
		}
		if p := k.ask(t, "GET", "/export?section=unknown", "").expectProblem(t, http.StatusUnprocessableEntity, "section_unknown"); p.Errors == nil || (*p.Errors)[0].Pointer != "?section" {
			t.Errorf("it points at %+v", p.Errors)
		}
	})
}

func TestExport_APageIsBoundedAndALargeBodyStillGoesOn(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for _, key := range []string{"a", "b", "c"} {
			k.create(t, key, map[string]string{"items": strings.Repeat(key, 2<<20), "plans": key})
		}
		after, pages, sections := int64(0), 0, 0
		for more := true; more; pages++ {
			got := k.ask(t, "GET", fmt.Sprintf("/export?include=bodies&after=%d", after), "")
			if len(got.body) > 4<<20 {
				t.Errorf("a page has %d bytes", len(got.body))
			}
			var page holdfast.ExportPage
			got.into(t, &page)
			if page.More && len(page.Records) == 0 {
				t.Fatal("a page before the last is empty")
			}
			sections += len(page.Records)
			after, more = page.Next, page.More
		}
		if sections != 6 || pages < 3 {
			t.Errorf("%d sections on %d pages", sections, pages)
		}
	})
}
