package journal

import (
	"bytes"
	encoding "encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Canonical is v as RFC 8785 JSON.
func Canonical(v any) (encoding.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return CanonicalJSON(raw)
}

// CanonicalJSON is the RFC 8785 form of a JSON value, of one spelling for all
// that mean the same. raw stays as it is.
//
// It refuses with KindInvalid what isn't I-JSON (RFC 7493: one value, valid
// UTF-8, no lone surrogate, no name twice in an object), as json_malformed or
// json_duplicate_key; and as json_number_inexact a number that would become
// another one, since RFC 8785 knows doubles only.
func CanonicalJSON(raw []byte) (encoding.RawMessage, error) {
	value := jsontext.Value(bytes.Clone(raw))
	if err := checkNumbers(value); err != nil {
		return nil, err
	}
	if err := value.Canonicalize(); err != nil {
		return nil, malformed(err)
	}
	return encoding.RawMessage(value), nil
}

// checkNumbers reads the whole value: what is malformed is found here too.
func checkNumbers(value []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(value))
	for {
		token, err := decoder.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return malformed(err)
		case token.Kind() == '0' && !survives(token.String()):
			return domain.Invalid("json_number_inexact",
				"A number in the JSON is none that a double can hold: send such a number as a string.")
		}
	}
}

// malformed doesn't pass on the decoder's own words, which may quote the value.
func malformed(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return domain.Invalid("json_duplicate_key", "An object has the same key twice.").Because(err)
	}
	return domain.Invalid("json_malformed", "That is not one well-formed JSON value in valid UTF-8.").Because(err)
}

// survives tells a JSON number that a double holds: written in decimal again it
// is the same number. A number with a fraction or an exponent may also have 17
// digits of which the last is off, as printers of doubles write them.
func survives(number string) bool {
	const always, printed = 15, 17 // significant digits: DBL_DIG, and DBL_DECIMAL_DIG
	real := strings.ContainsAny(number, ".eE")
	if !real && len(number) <= always {
		return true
	}
	given := decimalOf(number)
	if given.digits == "" {
		return true
	}
	double, err := strconv.ParseFloat(number, 64)
	if err != nil || double == 0 {
		return false // beyond all doubles, or between zero and the first
	}
	if real && len(given.digits) <= printed {
		return true
	}
	return given == decimalOf(strconv.FormatFloat(double, 'e', -1, 64))
}

// decimal is the number 0.digits × 10^exponent, without its sign.
type decimal struct {
	digits   string // neither begins nor ends with 0; "" for zero
	exponent int
}

// decimalOf reads a JSON number. The exponent means nothing where the number is
// zero, or beyond all doubles.
func decimalOf(number string) decimal {
	number = strings.TrimPrefix(number, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(number), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, _ := strconv.Atoi(power)
	significant := strings.TrimLeft(whole+fraction, "0")
	exponent += len(significant) - len(fraction)
	return decimal{strings.TrimRight(significant, "0"), exponent}
}
