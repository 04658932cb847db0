package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJSON_KeepsEveryDigitAndEveryRune(t *testing.T) {
	t.Parallel()
	got, err := parseJSON([]byte(" {\"a\": [1.50, -0, 1e400, 12345678901234567890], \"é\\ud83d\\ude00\": {\"\": null, \"b\": true}}\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a":  []any{json.Number("1.50"), json.Number("-0"), json.Number("1e400"), json.Number("12345678901234567890")},
		"é😀": map[string]any{"": nil, "b": true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

// I14, at the root: these never get as far as a schema.
func TestParseJSON_RefusesWhatOthersReadDifferently(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]string{
		``:                                 "json_malformed",
		`{`:                                "json_malformed",
		`nul`:                              "json_malformed",
		`{"a":01}`:                         "json_malformed",
		`{"a":NaN}`:                        "json_malformed",
		`{'a':1}`:                          "json_malformed",
		`{"a":1,}`:                         "json_malformed",
		"{\"a\":\"\n\"}":                   "json_malformed",
		"\ufeff{}":                         "json_malformed",
		"{\"a\":\"\xff\"}":                 "json_malformed",
		"{\"\xc3\x28\":1}":                 "json_malformed",
		"{\"a\":\"\xed\xa0\x80\"}":         "json_malformed",
		`{"a":"\ud800"}`:                   "json_malformed",
		`{"a":"\udc00\ud800"}`:             "json_malformed",
		`{"\ud800":1}`:                     "json_malformed",
		`{"a":"\x00"}`:                     "json_malformed",
		`{"a":1,"a":1}`:                    "json_duplicate_key",
		`{"x":[{"a":1,"\u0061":2}]}`:       "json_duplicate_key",
		`{}{}`:                             "json_trailing",
		`{}]`:                              "json_trailing",
		`1 2`:                              "json_trailing",
		"{}\x00":                           "json_trailing",
		`{"a":"\u0000"}`:                   "nul_not_allowed",
		`{"\u0000":1}`:                     "nul_not_allowed",
		strings.Repeat(`[`, 33):            "json_too_deep",
		strings.Repeat(`{"a":`, 33) + `1}`: "json_too_deep",
	} {
		_, err := parseJSON([]byte(text))
		if got := problemCode(err); got != code {
			t.Errorf("%q is refused with %q, want %q", text, got, code)
		}
	}
}

func TestParseJSON_TakesThirtyTwoLevels(t *testing.T) {
	t.Parallel()
	if _, err := parseJSON([]byte(strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32))); err != nil {
		t.Error(err)
	}
}

func problemCode(err error) string {
	if err == nil {
		return ""
	}
	var p *problem
	if errors.As(err, &p) {
		return p.code
	}
	return problemOf(context.Background(), err).code
}

// FuzzParseJSON: what it accepts is JSON, and has the value that encoding/json
// reads from it.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,2.5,"x",null,true]}`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, "\"\xff\"", `[[[]]]`, `{}{}`, `-0.0e-1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseJSON(text)
		if err != nil {
			return
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatalf("%q was accepted and is no JSON: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q has another value (-encoding/json +parseJSON):\n%s", text, diff)
		}
	})
}
