package httpapi

import (
	"bytes"
	"encoding/base64"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// binder gives the strict handlers the body that validate has judged, from the
// same bytes. Members bind by exact name: encoding/json would also take a twin
// in another letter case.
type binder struct{}

func (binder) Bind(into any, c echo.Context) error {
	return bind(callOf(c.Request().Context()).body, into)
}

// bind fails, as invalid, on what a schema can't say: an instant that no
// calendar has, an integer that is out of range.
func bind(text []byte, into any) error {
	err := json.Unmarshal(text, into, json.WithUnmarshalers(strictBytes))
	var misfit *json.SemanticError
	switch {
	case !errors.As(err, &misfit):
		return err
	case errors.Is(err, errNotBase64):
		return invalid([]domain.Field{{Pointer: pointerOf(misfit.JSONPointer), Code: "wrong_format"}})
	}
	return invalid([]domain.Field{{Pointer: pointerOf(misfit.JSONPointer), Code: "wrong_type"}})
}

var strictBytes = json.UnmarshalFromFunc(bindBytes)

var errNotBase64 = errors.New("not padded base64 (RFC 4648, section 4)")

// bindBytes takes the one spelling that bytes have. The library's own decoding
// forgives stray bits, and the standard library's line breaks. A body may be long:
// its text is decoded where it lies.
func bindBytes(from *jsontext.Decoder, into *[]byte) error {
	value, err := from.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != '"' {
		return errNotBase64
	}
	text := []byte(value[1 : len(value)-1])
	if bytes.IndexByte(text, '\\') >= 0 { // "\/" is a slash in JSON
		if text, err = jsontext.AppendUnquote(nil, value); err != nil {
			return err
		}
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Strict().Decode(decoded, text)
	if err != nil || base64.StdEncoding.EncodedLen(n) != len(text) {
		return errNotBase64
	}
	*into = decoded[:n]
	return nil
}
