package httpapi

import (
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
// forgives stray bits, and the standard library's line breaks.
func bindBytes(from *jsontext.Decoder, into *[]byte) error {
	token, err := from.ReadToken()
	if err != nil {
		return err
	}
	text := token.String()
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || base64.StdEncoding.EncodedLen(len(decoded)) != len(text) {
		return errNotBase64
	}
	*into = decoded
	return nil
}
