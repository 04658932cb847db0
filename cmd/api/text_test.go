package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// I14: none of this may pass, nor be changed silently, in any text of any
// request: in JSON's strings and keys, and behind its value.
var hostileJSONText = map[string]string{
	"NUL":                        `\u0000`,
	"a raw NUL":                  "\x00",
	"a lone high surrogate":      `\ud800`,
	"a lone low surrogate":       `\udfff`,
	"surrogates the wrong way":   `\udc00\ud800`,
	"invalid UTF-8":              "\xff",
	"a surrogate in UTF-8":       "\xed\xa0\x80",
	"an overlong slash in UTF-8": "\xc0\xaf",
	"half a rune":                "\xe2\x82",
	"a raw line break":           "\n",
}

// hostileEncoded likewise, in queries, forms and paths.
var hostileEncoded = map[string]string{
	"NUL":                        "%00",
	"invalid UTF-8":              "%ff",
	"a surrogate in UTF-8":       "%ed%a0%80",
	"an overlong slash in UTF-8": "%c0%af",
}

func TestText_HostileTextIsRefusedInEveryStringOfEveryOperation(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, op := range loadSpec(t).operations {
		x := s.valid(t, op)
		switch x.header.Get("Content-Type") {
		case "application/json", "application/x-ndjson":
			s.refusesHostileJSON(t, x)
		case "application/x-www-form-urlencoded":
			s.refusesHostileForm(t, x)
		}
		s.refusesHostilePathAndQuery(t, x)
		// The request itself is still good: nothing above was half done.
		s.send(t, x)
		if x.status >= http.StatusBadRequest {
			t.Errorf("%v: the request itself is refused now: %d %s", op, x.status, x.answer)
		}
	}
}

// refused sends a request that must be answered with 4xx, or have each of its
// lines fail.
func (s *subject) refused(t *testing.T, what string, x *exchange) {
	t.Helper()
	s.send(t, x)
	if x.status < http.StatusBadRequest && !allFailed(t, x) {
		t.Errorf("%v takes %s: %d %s\n%s %s", x.op, what, x.status, x.answer, x.target(), x.body)
	}
}

// allFailed tells an import of which nothing was made.
func allFailed(t *testing.T, x *exchange) bool {
	t.Helper()
	if x.answered.Get("Content-Type") != "application/x-ndjson" {
		return false
	}
	for line := range bytes.Lines(x.answer) {
		var r holdfast.ImportResult
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Result != "failed" {
			return false
		}
	}
	return true
}

func (s *subject) refusesHostileJSON(t *testing.T, valid *exchange) {
	t.Helper()
	for place, body := range marked(t, valid.body) {
		for what, text := range hostileJSONText {
			x := valid.clone()
			x.body = bytes.Replace(body, []byte(mark), []byte(text), 1)
			s.refused(t, what+" in "+place, x)
		}
	}
	for _, body := range doubled(t, valid.body) {
		x := valid.clone()
		x.body = body
		s.refused(t, "a key twice", x)
	}
	for what, change := range map[string]func([]byte) []byte{
		"two values":         func(b []byte) []byte { return append(b, "{}"...) },
		"itself twice":       func(b []byte) []byte { return append(b, b...) },
		"a trailing comma":   func(b []byte) []byte { return append(b, ',') },
		"a trailing NUL":     func(b []byte) []byte { return append(b, 0) },
		"a byte order mark":  func(b []byte) []byte { return append([]byte("\ufeff"), b...) },
		"half of itself":     func(b []byte) []byte { return b[:len(b)/2] },
		"a comment":          func(b []byte) []byte { return append(b, "// x"...) },
		"nothing":            func([]byte) []byte { return nil },
		"UTF-16":             func(b []byte) []byte { return utf16(b) },
		"too deep a nesting": func([]byte) []byte { return []byte(strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)) },
	} {
		x := valid.clone()
		x.body = change(x.body)
		s.refused(t, what, x)
	}
}

func (s *subject) refusesHostileForm(t *testing.T, valid *exchange) {
	t.Helper()
	values, err := url.ParseQuery(string(valid.body))
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		for what, text := range hostileEncoded {
			x := valid.clone()
			x.body = bytes.Replace(x.body, []byte(name+"="), []byte(name+"="+text), 1)
			s.refused(t, what+" in "+name, x)
		}
		x := valid.clone()
		x.body = append(x.body, "&"+name+"=x"...)
		s.refused(t, name+" twice", x)
	}
}

func (s *subject) refusesHostilePathAndQuery(t *testing.T, valid *exchange) {
	t.Helper()
	for what, text := range hostileEncoded {
		for _, braced := range pathParameter.FindAllString(valid.op.template, -1) {
			name := strings.Trim(braced, "{}")
			for _, value := range []string{text, url.PathEscape(valid.path[name]) + text} {
				x := valid.clone()
				x.rawPath = true
				for other := range x.path {
					x.path[other] = url.PathEscape(x.path[other])
				}
				x.path[name] = value
				s.refused(t, what+" in "+name, x)
			}
		}
		for _, query := range []string{"x=" + text, text + "=x", "cursor=" + text, "status=" + text} {
			x := valid.clone()
			x.query = query
			s.refused(t, what+" in the query "+query, x)
		}
	}
}

const mark = "\ue000"

// marked gives the body once for each of its strings and keys, with a mark in
// front of that one's text.
func marked(t *testing.T, body []byte) map[string][]byte {
	t.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for i := 0; ; i++ {
		n := i
		changed, place := markNth(value, "", &n)
		if n >= 0 {
			return all
		}
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		all[place] = text
	}
}

// markNth copies value with a mark in its n-th string or key; n is negative
// afterwards if there was one.
func markNth(value any, at string, n *int) (copied any, place string) {
	switch v := value.(type) {
	case string:
		if *n--; *n == -1 {
			return mark + v, at
		}
		return v, ""
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			var found string
			if items[i], found = markNth(item, fmt.Sprint(at, "/", i), n); found != "" {
				place = found
			}
		}
		return items, place
	case map[string]any:
		members := make(map[string]any, len(v))
		for _, name := range sortedKeys(v) {
			key := name
			if *n--; *n == -1 {
				key, place = mark+name, at+"/"+name+" (the key)"
			}
			var found string
			if members[key], found = markNth(v[name], at+"/"+name, n); found != "" {
				place = found
			}
		}
		return members, place
	default:
		return v, ""
	}
}

// doubled gives the body once for each of its objects, with that one's first
// key twice.
func doubled(t *testing.T, body []byte) [][]byte {
	t.Helper()
	var all [][]byte
	for place, text := range marked(t, body) {
		name, isKey := strings.CutSuffix(place, " (the key)")
		if !isKey {
			continue
		}
		name = name[strings.LastIndexByte(name, '/')+1:]
		all = append(all, bytes.Replace(text, []byte(`"`+mark+name+`":`), []byte(`"`+name+`":1,"`+name+`":`), 1))
	}
	return all
}

func utf16(text []byte) []byte {
	wide := []byte{0xff, 0xfe}
	for _, b := range text {
		wide = append(wide, b, 0)
	}
	return wide
}
