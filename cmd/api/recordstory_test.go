package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestRecord_IsPublishedReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		receipt := k.create(t, "a", map[string]string{"items": "one", "plans": ""})
		if receipt.Outcome != "published" || receipt.Revision != 1 || len(receipt.Changes) != 2 {
			t.Errorf("created as %+v", receipt)
		}
		read := k.ask(t, "GET", at("a")+"?include=bodies", "")
		var record holdfast.Record
		read.into(t, &record)
		if got := string(*record.Sections["items"].Body); got != "one" || read.header.Get("ETag") != `"1"` || !record.Live {
			t.Errorf("items are %q in %s", got, read.body)
		}
		if body := record.Sections["plans"].Body; body == nil || len(*body) != 0 {
			t.Errorf("the empty body is missing in %s", read.body)
		}
		changed := k.ask(t, "PUT", at("a"), publication("close", map[string]string{"closed": "two"}), `If-Match: "1"`)
		changed.into(t, &receipt)
		if changed.status != http.StatusOK || changed.header.Get("ETag") != `"2"` || len(receipt.Changes) != 3 {
			t.Errorf("changed: %d %v %s", changed.status, changed.header, changed.body)
		}
		k.ask(t, "GET", bodyAt("a", "items"), "").expectProblem(t, http.StatusGone, "section_deleted")
		k.ask(t, "GET", bodyAt("a", "decision-packets"), "").expectProblem(t, http.StatusNotFound, "section_not_found")
		k.ask(t, "GET", at("b"), "").expectProblem(t, http.StatusNotFound, "record_not_found")

		deleted := k.ask(t, "DELETE", at("a"), "", `If-Match: "2"`, "Idempotency-Key: delete")
		again := k.ask(t, "DELETE", at("a"), "", `If-Match: "2"`, "Idempotency-Key: delete")
		if deleted.status != http.StatusOK || deleted.text() != again.text() || again.header.Get("Idempotent-Replayed") != "true" || deleted.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("deleted: %d %s, and again %d %s", deleted.status, deleted.body, again.status, again.body)
		}
		k.ask(t, "GET", at("a"), "").into(t, &record)
		if record.Live || record.Revision != 3 || len(record.Sections) != 3 {
			t.Errorf("left is %+v", record)
		}
	})
}

func TestRecord_APublicationNamesExactlyOnePrecondition(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	k.create(t, "a", map[string]string{"items": "one"})
	fence := func(operation string) string {
		return strings.Replace(publication(operation, map[string]string{"items": "x"}), "{", `{"fence":{"key":"f","revision":1},`, 1)
	}
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    string
	}{
		"none":                         {publication("o", map[string]string{"items": "x"}), nil, 428, "precondition_required"},
		"any revision":                 {publication("o", map[string]string{"items": "x"}), []string{"If-Match: *"}, 428, "if_match_required"},
		"two headers":                  {publication("o", map[string]string{"items": "x"}), []string{`If-Match: "1"`, "If-None-Match: *"}, 422, "precondition_ambiguous"},
		"a header and one of the body": {fence("o"), []string{`If-Match: "1"`}, 422, "precondition_ambiguous"},
		"what no change asks":          {publication("o", map[string]string{"items": "x"}), []string{`If-None-Match: "1"`}, 400, "if_none_match_malformed"},
		"not a tag":                    {publication("o", map[string]string{"items": "x"}), []string{`If-Match: 1`}, 400, "if_match_malformed"},
	} {
		p := k.ask(t, "PUT", at("a"), c.body, c.headers...).problem(t)
		if p.Status != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s, want %d %s", name, p.Status, p.Code, c.status, c.code)
		}
	}
	k.ask(t, "DELETE", at("a"), "").expectProblem(t, 428, "if_match_required")
}

func TestRecord_AConflictShowsTheRecordAsItStands(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "a", map[string]string{"items": "one", "plans": ""})
		other := strings.Repeat("0", 64)
		for name, c := range map[string]struct {
			body    string
			headers []string
			status  int
			code    string
		}{
			"another revision":   {publication("o", map[string]string{"items": "x"}), []string{`If-Match: "7"`}, 412, "revision_stale"},
			"no revision at all": {publication("o", map[string]string{"items": "x"}), []string{`If-Match: "x"`}, 412, "revision_stale"},
			"a weak tag":         {publication("o", map[string]string{"items": "x"}), []string{`If-Match: W/"1"`}, 412, "revision_stale"},
			"creation":           {publication("o", map[string]string{"items": "x"}), []string{"If-None-Match: *"}, 412, "record_exists"},
			"another digest": {strings.Replace(publication("o", map[string]string{"items": "x"}), "{", `{"expect":{"items":"`+other+`"},`, 1),
				nil, 409, "digest_mismatch"},
			"no section": {strings.Replace(publication("o", map[string]string{"items": "x"}), "{", `{"expect":{"plans":null},`, 1),
				nil, 409, "digest_mismatch"},
		} {
			p := k.ask(t, "PUT", at("a"), c.body, c.headers...).expectProblem(t, c.status, c.code)
			if p.Record == nil || p.Record.Revision != 1 || p.Record.Sections["items"].Length != 3 || p.Record.Sections["items"].Body != nil {
				t.Errorf("%s: shown is %+v", name, p.Record)
			}
			p = k.ask(t, "PUT", at("a")+"?include=bodies", c.body, c.headers...).expectProblem(t, c.status, c.code)
			if p.Record == nil || p.Record.Sections["items"].Body == nil || string(*p.Record.Sections["items"].Body) != "one" || len(*p.Record.Sections["plans"].Body) != 0 {
				t.Errorf("%s: shown with bodies is %+v", name, p.Record)
			}
		}
		if p := k.ask(t, "DELETE", at("a"), "", `If-Match: "7"`).expectProblem(t, 412, "revision_stale"); p.Record == nil {
			t.Error("a deletion's conflict doesn't show the record")
		}
	})
}

// R20: the same again is answered with the receipt, other bytes are a conflict.
func TestRecord_ARetryGetsItsReceipt(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		first := k.ask(t, "PUT", at("a"), publication("the operation/%", map[string]string{"items": "one"}), "If-None-Match: *")
		again := k.ask(t, "PUT", at("a"), publication("the operation/%", map[string]string{"items": "one"}), "If-None-Match: *")
		if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" || first.text() != again.text() {
			t.Errorf("first %v %s, again %v %s", first.header, first.body, again.header, again.body)
		}
		k.ask(t, "PUT", at("a"), publication("the operation/%", map[string]string{"items": "two"}), "If-None-Match: *").
			expectProblem(t, http.StatusConflict, "operation_id_reused")
		var stored holdfast.StoredReceipt
		k.ask(t, "GET", "/receipts/the%20operation%2F%25", "").into(t, &stored)
		var receipt holdfast.Receipt
		first.into(t, &receipt)
		if diff := cmp.Diff(&receipt, stored.Publication); diff != "" || stored.Completion != nil {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		k.ask(t, "GET", "/receipts/another", "").expectProblem(t, http.StatusNotFound, "receipt_not_found")
	})
}

// R28: how bodies were encoded is no part of what was asked.
func TestRecord_Base64AndPartsHaveTheSameReceipt(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		large := strings.Repeat("\x00\r\n--\xff", 250_000)
		bodies := map[string]string{"items": large, "plans": ""}
		asJSON := k.ask(t, "PUT", at("a"), publication("o1", bodies), "If-None-Match: *")
		inParts := k.upload(t, "a", newParts(t, `{"operation_id":"o1"}`, bodies), "If-None-Match: *")
		if asJSON.status != http.StatusOK || asJSON.text() != inParts.text() || inParts.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("as JSON %d %s, in parts %d %s", asJSON.status, asJSON.body, inParts.status, inParts.body)
		}
		inParts = k.upload(t, "b", newParts(t, `{"operation_id":"o2","tombstones":[]}`, bodies), "If-None-Match: *")
		asJSON = k.ask(t, "PUT", at("b"), publication("o2", bodies), "If-None-Match: *")
		if inParts.status != http.StatusOK || asJSON.text() != inParts.text() || asJSON.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("in parts %d %s, as JSON %d %s", inParts.status, inParts.body, asJSON.status, asJSON.body)
		}
		for _, key := range []string{"a", "b"} {
			if read := k.ask(t, "GET", bodyAt(key, "items"), ""); read.text() != large {
				t.Errorf("%s: %d bytes came back, of %d", key, len(read.body), len(large))
			}
			if read := k.ask(t, "GET", bodyAt(key, "plans"), ""); read.status != http.StatusOK || len(read.body) != 0 {
				t.Errorf("%s: the empty body came back as %d %q", key, read.status, read.body)
			}
		}
	})
}
