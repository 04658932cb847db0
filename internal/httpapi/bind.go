package httpapi

import (
	"errors"

	"github.com/go-json-experiment/json"
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
	err := json.Unmarshal(text, into)
	var misfit *json.SemanticError
	if errors.As(err, &misfit) {
		return invalid([]domain.Field{{Pointer: pointerOf(misfit.JSONPointer), Code: "wrong_type"}})
	}
	return err
}
