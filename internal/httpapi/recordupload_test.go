package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// upload asks for a publication in parts.
func (a *testAPI) upload(t *testing.T, body string, headers ...string) Problem {
	t.Helper()
	headers = append([]string{"Content-Type: multipart/form-data; boundary=x", "If-None-Match: *"}, headers...)
	w := a.do(t, request{method: "PUT", target: orders("/records/a"), headers: headers, body: body})
	if w.Code == http.StatusOK {
		return Problem{Status: w.Code}
	}
	return problemIn(t, w)
}

func TestUpload_PartsComeInAnyOrderAndStayTheirBytes(t *testing.T) {
	t.Parallel()
	digest := record.DigestOf([]byte("x"))
	described := `{"operation_id":"o","producer":"p","tombstones":["closed"],"expect":{"items":"` + digest.String() + `","plans":null},` +
		`"fence":{"key":"f","revision":3},"batch":{"batch_id":"b","generation":4}}`
	want := record.Publication{
		Key: "a", OperationID: "o", Producer: "p", Tombstones: []string{"closed"},
		Bodies: map[string][]byte{"items": []byte("\x00\r\n--y\r\n\xff"), "plans": {}},
		Expect: record.Expectation{Absent: true, Digests: map[string]*record.Digest{"items": &digest, "plans": nil}, Fence: &record.Fence{Key: "f", Revision: 3}},
		Claim:  &record.Claim{BatchID: "b", Generation: 4},
	}
	items, plans, publication := part("items", "\x00\r\n--y\r\n\xff"), part("plans", ""), part("publication", described)
	typed := strings.Replace(publication, "\r\n", "\r\nContent-Type: application/json; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n", 1)
	a := newTestAPI(t, testOptions{})
	for name, body := range map[string]string{
		"described first": inParts(publication, items, plans),
		"described last":  inParts(plans, items, publication),
		"with its type":   inParts(plans, typed, items),
		"with a preamble": "ignored\r\n" + inParts(items, publication, plans),
	} {
		for _, chunked := range []string{"X: x", "Transfer-Encoding: chunked"} {
			if p := a.upload(t, body, chunked); p.Status != http.StatusOK {
				t.Fatalf("%s: %+v", name, p)
			}
			if diff := cmp.Diff(any(want), a.records.got, cmpopts.IgnoreUnexported(record.Publication{})); diff != "" {
				t.Errorf("%s (-want +got)\n%s", name, diff)
			}
		}
	}
}

func TestUpload_WhatIsNotAPublicationInPartsIsRefused(t *testing.T) {
	t.Parallel()
	described, items := part("publication", `{"operation_id":"o"}`), part("items", "x")
	var many []string
	for range 17 {
		many = append(many, part(string(rune('a'+len(many))), ""))
	}
	a := newTestAPI(t, testOptions{})
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		at     string
	}{
		"nothing":                       {"", 400, "part_missing", ""},
		"no parts":                      {"--x--\r\n", 400, "part_missing", ""},
		"no publication":                {inParts(items), 400, "part_missing", ""},
		"the publication twice":         {inParts(described, described), 400, "part_twice", "/publication"},
		"a section twice":               {inParts(described, items, items), 400, "part_twice", "/items"},
		"18 parts":                      {inParts(append(many, described)...), 400, "too_many_parts", ""},
		"a part that isn't named":       {inParts(described, "Content-Disposition: form-data\r\n\r\nx"), 400, "part_unnamed", ""},
		"a part of something else":      {inParts(described, "Content-Disposition: attachment; name=items\r\n\r\nx"), 400, "part_unnamed", ""},
		"a part without headers":        {inParts(described, "\r\nx"), 400, "part_unnamed", ""},
		"a part in base64":              {inParts(described, strings.Replace(items, "\r\n", "\r\nContent-Transfer-Encoding: base64\r\n", 1)), 400, "part_encoded", "/items"},
		"a part in quoted-printable":    {inParts(described, strings.Replace(items, "\r\n", "\r\nContent-Transfer-Encoding: Quoted-Printable\r\n", 1)), 400, "part_encoded", "/items"},
		"a part that is cut off":        {strings.TrimSuffix(inParts(described, items), "\r\n--x--\r\n"), 400, "multipart_malformed", ""},
		"a header that is malformed":    {inParts(described, "Content-Disposition\r\n\r\nx"), 400, "multipart_malformed", ""},
		"a publication of another type": {inParts(strings.Replace(described, "\r\n", "\r\nContent-Type: text/plain\r\n", 1)), 400, "part_media_type", ""},
		"a publication that is long":    {inParts(part("publication", `{"operation_id":"`+strings.Repeat("o", 64<<10)+`"}`)), 400, "part_too_large", ""},
		"a publication that isn't JSON": {inParts(part("publication", `{`)), 400, "json_malformed", ""},
		"a key twice":                   {inParts(part("publication", `{"operation_id":"o","operation_id":"p"}`)), 400, "json_duplicate_key", "/operation_id"},
		"an unknown field":              {inParts(part("publication", `{"operation_id":"o","sections":{}}`)), 422, "request_invalid", "/sections"},
		"no operation id":               {inParts(part("publication", `{}`)), 422, "request_invalid", "/operation_id"},
		"another spelling of a field":   {inParts(part("publication", `{"operation_id":"o","Producer":"p"}`)), 422, "request_invalid", "/Producer"},
	} {
		for _, chunked := range []string{"X: x", "Transfer-Encoding: chunked"} {
			p := a.upload(t, c.body, chunked)
			pointer := ""
			if fields := fieldsIn(p); len(fields) > 0 {
				pointer = fields[0].Pointer
			}
			if p.Status != c.status || p.Code != c.code || pointer != c.at || a.records.called != nil {
				t.Errorf("%s: %d %s at %q, want %d %s at %q; asked %v", name, p.Status, p.Code, pointer, c.status, c.code, c.at, a.records.called)
			}
			if a.memory.inUse != 0 {
				t.Errorf("%s leaves %d bytes taken", name, a.memory.inUse)
			}
		}
	}
}

func TestUpload_ItsMediaTypeNamesABoundary(t *testing.T) {
	t.Parallel()
	body := inParts(part("publication", `{"operation_id":"o"}`), part("items", "x"))
	a := newTestAPI(t, testOptions{})
	for media, want := range map[string]string{
		`Multipart/Form-Data; Boundary="x"`:                        "",
		"multipart/form-data":                                      "media_type_unsupported",
		"multipart/form-data; boundary=":                           "media_type_unsupported",
		"multipart/form-data; boundary=" + strings.Repeat("x", 71): "media_type_unsupported",
		"multipart/form-data; boundary=x; charset=utf-16":          "media_type_unsupported",
		"multipart/mixed; boundary=x":                              "media_type_unsupported",
		"application/json; boundary=x":                             "media_type_unsupported",
	} {
		if p := a.upload(t, body, "Content-Type: "+media); p.Code != want {
			t.Errorf("%s: %d %q, want %q", media, p.Status, p.Code, want)
		}
	}
}

func TestUpload_WhateverIsSentIsNeverTheServersFault(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{discard: true})
	valid := inParts(part("publication", `{"operation_id":"o","expect":{"items":null}}`), part("items", "x\r\n--"), part("plans", ""))
	rapid.Check(t, func(rt *rapid.T) {
		body := []byte(valid)
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			at := rapid.IntRange(0, len(body)).Draw(rt, "at")
			end := min(len(body), at+rapid.IntRange(0, 20).Draw(rt, "removed"))
			inserted := rapid.OneOf(
				rapid.SliceOfN(rapid.Byte(), 0, 8),
				rapid.Map(rapid.SampledFrom([]string{"\r\n--x\r\n", "\r\n--x--", "\r\n\r\n", "Content-Type: ", "name=", `"`, ";", "\x00", "=?utf-8?q?a?="}), func(s string) []byte { return []byte(s) }),
			).Draw(rt, "inserted")
			body = slices.Concat(body[:at], inserted, body[end:])
		}
		w := a.do(t, request{method: "PUT", target: orders("/records/a"), body: string(body), headers: []string{"Content-Type: multipart/form-data; boundary=x"}})
		if w.Code >= http.StatusInternalServerError || a.memory.inUse != 0 {
			rt.Fatalf("%q: %d %s; %d bytes are left", body, w.Code, w.Body, a.memory.inUse)
		}
	})
}
