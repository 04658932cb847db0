package journal_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func TestCanonicalJSON_IsOneSpellingForAllThatMeanTheSame(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		` { "b" : 1 , "a" : [ true , null ] } `: `{"a":[true,null],"b":1}`,
		`"\u00e9\/\u20ac\ud83d\ude00"`:          `"é/€😀"`,
		`"\u2028\u2029\u007f"`:                  "\"\u2028\u2029\u007f\"",
		`"\u0000\u0008\t\n\f\r\u001F\"\\"`:      `"\u0000\b\t\n\f\r\u001f\"\\"`,
		// By UTF-16 code units: the emoji's surrogates sort before U+FB33.
		`{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3}`: "{\"€\":3,\"😀\":2,\"\ufb33\":1}",
		`1.0`:                     `1`,
		`-0`:                      `0`,
		`0e400`:                   `0`,
		`1E3`:                     `1000`,
		`0.000001`:                `0.000001`,
		`0.0000001`:               `1e-7`,
		`1e21`:                    `1e+21`,
		`333333333.33333329`:      `333333333.3333333`,
		`4.50`:                    `4.5`,
		`0.10000000000000001`:     `0.1`, // as printf's %.17g writes it
		`9007199254740992`:        `9007199254740992`,
		`123456789012345680000`:   `123456789012345680000`,
		`0.100000000000000000000`: `0.1`,
		`null`:                    `null`,
		`""`:                      `""`,
	} {
		got, err := journal.CanonicalJSON([]byte(given))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", given, got, err, want)
		}
	}
}

func TestCanonicalJSON_RefusesWhatHasNoCanonicalForm(t *testing.T) {
	t.Parallel()
	for given, code := range map[string]string{
		``:                                "json_malformed",
		` `:                               "json_malformed",
		`{`:                               "json_malformed",
		`1 2`:                             "json_malformed",
		`{} x`:                            "json_malformed",
		`01`:                              "json_malformed",
		`NaN`:                             "json_malformed",
		`'a'`:                             "json_malformed",
		"\"\x01\"":                        "json_malformed",
		"\"\xff\"":                        "json_malformed",
		"\"\xed\xa0\x80\"":                "json_malformed", // a surrogate in UTF-8
		`"\ud800"`:                        "json_malformed",
		`"\udc00\ud800"`:                  "json_malformed",
		`{"a":1,"a":1}`:                   "json_duplicate_key",
		`[{"a":{"x":1,"\u0078":2}}]`:      "json_duplicate_key",
		`9007199254740993`:                "json_number_inexact",
		`-9007199254740993`:               "json_number_inexact",
		`18446744073709551616`:            "json_number_inexact", // 2^64 would become …552000
		`{"a":[1234567890123456789]}`:     "json_number_inexact",
		`1e400`:                           "json_number_inexact",
		`-1e99999999999999999999`:         "json_number_inexact",
		`1e-400`:                          "json_number_inexact",
		`0.12345678901234567891`:          "json_number_inexact",
		`1234567890123456789.0`:           "json_number_inexact",
		strings.Repeat("[", 20_000) + "1": "json_malformed",
	} {
		_, err := journal.CanonicalJSON([]byte(given))
		if domain.KindOf(err) != domain.KindInvalid || domain.CodeOf(err) != code {
			t.Errorf("%.60s: %v, want %s", given, err, code)
		}
	}
}

// The examples of RFC 8785, appendix B.
func TestCanonicalJSON_WritesNumbersAsTheRFCDoes(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324", 0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308", 0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23", 0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333", 0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343", 0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		given := strconv.FormatFloat(math.Float64frombits(bits), 'e', -1, 64)
		got, err := journal.CanonicalJSON([]byte(given))
		if err != nil || string(got) != want {
			t.Errorf("%016x: %s, %v, want %s", bits, got, err, want)
		}
	}
}

// However a double is printed that can be read back, it is taken, and is the same
// double.
func TestCanonicalJSON_KeepsEveryDouble(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		double := rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }).Draw(t, "double")
		for _, given := range []string{
			strconv.FormatFloat(double, 'e', -1, 64),
			strconv.FormatFloat(double, 'f', -1, 64),
			strconv.FormatFloat(double, 'g', 17, 64),
			string(must(json.Marshal(double))),
		} {
			if math.Abs(double) >= 1<<53 && !strings.ContainsAny(given, ".e") {
				continue // it reads as an integer, of which the last digits are made up
			}
			canonical, err := journal.CanonicalJSON([]byte(given))
			if err != nil {
				t.Fatalf("%s: %v", given, err)
			}
			if got := must(strconv.ParseFloat(string(canonical), 64)); got != double {
				t.Fatalf("%s became %s", given, canonical)
			}
		}
	})
}

// Another library's canonical form is a second opinion on all but the numbers that
// are refused.
func TestCanonicalJSON_AgreesWithAnotherImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := anyJSON(3).Draw(t, "value")
		canonical, err := journal.CanonicalJSON([]byte(given))
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		want, err := jcs.Transform([]byte(given))
		if err != nil {
			t.Fatalf("%s: %v", given, err)
		}
		if string(canonical) != string(want) {
			t.Fatalf("%s: %s, want %s", given, canonical, want)
		}
		if again := must(journal.CanonicalJSON(canonical)); string(again) != string(canonical) {
			t.Fatalf("%s is not its own canonical form, but %s", canonical, again)
		}
	})
}

// anyJSON is a value with white space and escapes where they may be.
func anyJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kinds := []string{"null", "true", "number", "string"}
		if depth > 0 {
			kinds = append(kinds, "array", "object")
		}
		space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
		switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
		case "number":
			return space + strconv.FormatFloat(rapid.Float64Range(-1e15, 1e15).Draw(t, "number"), 'g', -1, 64)
		case "string":
			return space + quoted(t) + space
		case "array":
			items := rapid.SliceOfN(anyJSON(depth-1), 0, 4).Draw(t, "items")
			return "[" + strings.Join(items, ",") + space + "]"
		case "object":
			members := map[string]string{}
			for range rapid.IntRange(0, 5).Draw(t, "members") {
				var name string
				text := quoted(t)
				if err := json.Unmarshal([]byte(text), &name); err != nil {
					t.Fatal(err)
				}
				members[name] = text + space + ":" + anyJSON(depth-1).Draw(t, "member")
			}
			var list []string
			for _, member := range members { // in any order
				list = append(list, member)
			}
			return "{" + strings.Join(list, space+",") + "}"
		default:
			return kind
		}
	})
}

// quoted is a JSON string, some of its characters escaped that need not be.
func quoted(t *rapid.T) string {
	var text strings.Builder
	text.WriteByte('"')
	for _, r := range anyText().Draw(t, "text") {
		switch {
		case r < 0x20 || r == '"' || r == '\\' || r < 0x10000 && rapid.IntRange(0, 3).Draw(t, "escape") == 0:
			fmt.Fprintf(&text, `\u%04X`, r)
		default:
			text.WriteRune(r)
		}
	}
	text.WriteByte('"')
	return text.String()
}

// anyText is valid UTF-8, with much of what has to be escaped or looks as if it had.
func anyText() *rapid.Generator[string] {
	odd := rapid.SampledFrom([]rune{0, 8, '\t', '\n', 0x1f, '"', '\\', '/', 0x7f, 'é', 0x2028, 0x2029, 0xfb33, 0xfffd, 0xffff, 0x10000, '😀', 0x10ffff})
	return rapid.StringOf(rapid.OneOf(odd, rapid.Rune()))
}
