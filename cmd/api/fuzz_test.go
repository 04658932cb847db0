package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// TestContract_MutatedRequestsAreAnsweredAsDescribed walks the document and
// sends, to every operation, requests that were good until something was
// changed in them. Whatever comes back must be described, and no 5xx.
func TestContract_MutatedRequestsAreAnsweredAsDescribed(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	operations := loadSpec(t).operations
	requests := make([]*exchange, len(operations))
	for i, op := range operations {
		requests[i] = s.valid(t, op)
	}
	answered := map[string]map[int]int{}
	rapid.Check(t, func(rt *rapid.T) {
		for _, valid := range requests {
			x := valid.clone()
			for range rapid.IntRange(1, 3).Draw(rt, "mutations") {
				mutate(rt, x)
			}
			s.send(t, x)
			if t.Failed() {
				rt.Fatalf("%v: %s %q %v", x.op, x.target(), x.body, x.header)
			}
			if answered[x.op.String()] == nil {
				answered[x.op.String()] = map[int]int{}
			}
			answered[x.op.String()][x.status]++
		}
	})
	for _, op := range slices.Sorted(maps.Keys(answered)) {
		t.Log(op, answered[op])
	}
}

// mutate changes one thing of a request.
func mutate(t *rapid.T, x *exchange) {
	mutations := []func(*rapid.T, *exchange){mutateQuery, mutateHeader, mutateToken}
	if len(x.body) > 0 {
		mutations = append(mutations, mutateBody, mutateBody, mutateBody, mutateBytes)
	}
	if strings.Contains(x.op.template, "{") {
		mutations = append(mutations, mutatePath)
	}
	rapid.SampledFrom(mutations).Draw(t, "mutation")(t, x)
}

// text draws what people and programs put into strings.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", " ", "0", "-1", "null", "*", "a", "A", "..", "/", "%", "'", `"`, "\\", "<script>", "\u202e", "\ufb01", "\u212a", "\u0130", "\u00df",
			"a@b.de", "a@b", "@", "admin", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
			"9223372036854775807", "9223372036854775808", "1e400", "2026-02-30T00:00:00Z", "2026-11-30T12:00:00+01:00",
			strings.Repeat("a", 65), strings.Repeat("é", 300), strings.Repeat("x", 5000),
		}),
		rapid.String(),
		rapid.StringMatching(`[a-z0-9@._-]{0,70}`),
	)
}

func mutatePath(t *rapid.T, x *exchange) {
	name := rapid.SampledFrom(pathNames(x.op)).Draw(t, "path parameter")
	x.path[name] = rapid.OneOf(text(), rapid.SampledFrom(slices.Sorted(maps.Values(x.path)))).Draw(t, name)
	if x.path[name] == "" || strings.Trim(x.path[name], ".") == "" {
		x.path[name] = "x" // the path would be another operation's
	}
}

func mutateQuery(t *rapid.T, x *exchange) {
	names := []string{"x", "limit", "cursor", "status", "include"}
	for _, p := range x.op.parameters() {
		names = append(names, p.Value.Name)
	}
	query := url.Values{}
	for range rapid.IntRange(1, 3).Draw(t, "query parameters") {
		query.Add(rapid.SampledFrom(names).Draw(t, "name"), text().Draw(t, "value"))
	}
	x.query = query.Encode()
}

func mutateHeader(t *rapid.T, x *exchange) {
	name := rapid.SampledFrom([]string{"If-Match", "Idempotency-Key", "Content-Type", "Content-Encoding", "X-Request-Id", "Traceparent", "Accept", "Holdfast-Lease", "Last-Event-ID",
		"If-None-Match", "Range", "If-Range"}).Draw(t, "header")
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"", "*", `"1"`, `W/"1"`, `"1", "2"`, `"`, "application/json", "application/merge-patch+json",
			"text/plain", "application/x-ndjson", "1.x", "2.wVJ5", "multipart/form-data; boundary=x",
			"multipart/form-data", "bytes=0-0", "bytes=-1", "bytes=9-", "bytes=0-0,2-3", "application/json; charset=utf-16", "gzip", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}),
		rapid.StringMatching(`[ -~]{0,300}`),
	).Draw(t, "value")
	if rapid.Bool().Draw(t, "twice") {
		x.header.Add(name, value)
	}
	x.header.Set(name, value)
}

func mutateToken(t *rapid.T, x *exchange) {
	switch rapid.IntRange(0, 5).Draw(t, "token") {
	case 0:
		x.header.Del("Authorization")
	case 1:
		x.header.Set("Authorization", rapid.SampledFrom([]string{"Bearer", "Bearer ", "Bearer x", "Basic eDp5", "Bearer a.b.c"}).Draw(t, "authorization"))
	}
}

// mutateBytes breaks the text of the body.
func mutateBytes(t *rapid.T, x *exchange) {
	at := rapid.IntRange(0, len(x.body)).Draw(t, "at")
	inserted := rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "inserted")
	end := min(len(x.body), at+rapid.IntRange(0, 4).Draw(t, "removed"))
	x.body = slices.Concat(x.body[:at], inserted, x.body[end:])
}

// mutateBody changes the value that the body holds, by its schema: a form's
// fields, or a JSON value somewhere within.
func mutateBody(t *rapid.T, x *exchange) {
	var value any
	if json.Unmarshal(x.body, &value) != nil {
		if fields, err := url.ParseQuery(string(x.body)); err == nil && len(fields) > 0 {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(fields))).Draw(t, "field")
			fields.Set(name, text().Draw(t, name))
			x.body = []byte(fields.Encode())
		}
		return
	}
	changed, err := json.Marshal(mutateValue(t, value, bodySchema(x.op)))
	if err != nil {
		t.Fatal(err)
	}
	x.body = changed
}

func bodySchema(op described) *openapi3.Schema {
	if op.operation.RequestBody == nil {
		return nil
	}
	if content := op.operation.RequestBody.Value.Content["application/json"]; content != nil {
		return content.Schema.Value
	}
	return nil
}

func mutateValue(t *rapid.T, value any, schema *openapi3.Schema) any {
	if members, ok := value.(map[string]any); ok && rapid.IntRange(0, 5).Draw(t, "deeper") > 0 {
		return mutateObject(t, members, schema)
	}
	if items, ok := value.([]any); ok && len(items) > 0 && rapid.Bool().Draw(t, "deeper") {
		copied := slices.Clone(items)
		i := rapid.IntRange(0, len(copied)-1).Draw(t, "item")
		copied[i] = mutateValue(t, copied[i], nil)
		return append(copied, copied[:rapid.IntRange(0, len(copied)).Draw(t, "repeated")]...)
	}
	return anyJSON(2).Draw(t, "value")
}

// mutateObject changes, drops or adds a member, a known one or not.
func mutateObject(t *rapid.T, members map[string]any, schema *openapi3.Schema) any {
	copied := maps.Clone(members)
	names := append(slices.Sorted(maps.Keys(members)), "unknown", "ID", "revision")
	if schema != nil {
		names = append(names, slices.Sorted(maps.Keys(schema.Properties))...)
	}
	name := rapid.OneOf(rapid.SampledFrom(names), text()).Draw(t, "member")
	old, present := copied[name]
	switch {
	case present && rapid.Bool().Draw(t, "drop"):
		delete(copied, name)
	case present:
		copied[name] = mutateValue(t, old, nil)
	default:
		copied[name] = anyJSON(2).Draw(t, name)
	}
	return copied
}

// anyJSON draws a JSON value of a depth.
func anyJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		text().AsAny(),
		rapid.Int64().AsAny(),
		rapid.SampledFrom([]any{json.Number("1e400"), json.Number("-0"), json.Number("0.1"), json.Number(fmt.Sprint(uint64(1) << 63))}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(anyJSON(depth-1), 0, 3).AsAny(),
		rapid.MapOfN(text(), anyJSON(depth-1), 0, 3).AsAny(),
	)...)
}
