package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// validate holds the request against the document before a handler sees it.
func (s *server) validate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		op := callOf(c.Request().Context()).operation
		if op == nil {
			return next(c)
		}
		if err := op.validateQuery(c.Request()); err != nil {
			return err
		}
		if err := op.validateHeaders(c.Request()); err != nil {
			return err
		}
		if err := s.validateBody(c, op); err != nil {
			return err
		}
		return next(c)
	}
}

// validateQuery refuses what can't be parsed, names that the document doesn't
// know, and names that come twice.
func (o *operation) validateQuery(r *http.Request) error {
	var values url.Values
	if r.URL.RawQuery != "" {
		var err error
		if values, err = parseValues(r.URL.RawQuery); err != nil {
			return malformed("query_malformed", "The query can't be parsed.")
		}
	}
	var fields []domain.Field
	for name, given := range values {
		switch {
		case o.query[name] == nil:
			fields = append(fields, domain.Field{Pointer: "?" + echoed(name), Code: "unknown_parameter"})
		case len(given) > 1:
			fields = append(fields, domain.Field{Pointer: "?" + name, Code: "repeated_parameter"})
		}
	}
	if fields == nil {
		for name, parameter := range o.query {
			if _, given := values[name]; given || parameter.Required {
				fields = append(fields, o.validateParameter(r, values, parameter, "?"+name)...)
			}
		}
	}
	return invalid(fields)
}

// validateHeaders looks at the headers that the operation declares. Others are
// none of its business.
func (o *operation) validateHeaders(r *http.Request) error {
	var fields []domain.Field
	for _, parameter := range o.headers {
		given := r.Header.Values(parameter.Name)
		switch {
		case len(given) > 1:
			return malformed("header_repeated", "A header that may come once came more than once.").at(parameter.Name)
		case len(given) == 1 || parameter.Required:
			fields = append(fields, o.validateParameter(r, nil, parameter, parameter.Name)...)
		}
	}
	return invalid(fields)
}

func (o *operation) validateParameter(r *http.Request, query url.Values, parameter *openapi3.Parameter, pointer string) []domain.Field {
	err := openapi3filter.ValidateParameter(r.Context(), &openapi3filter.RequestValidationInput{
		Request:     r,
		QueryParams: query,
		Route:       o.matched,
		Options:     &openapi3filter.Options{SkipSettingDefaults: true, MultiError: true},
	}, parameter)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		return []domain.Field{{Pointer: pointer, Code: "required"}}
	}
	return schemaFields(pointer, err)
}

// codeRequestInvalid is the code of a request that breaks the document.
const codeRequestInvalid = "request_invalid"

// invalid is nil without fields. They come in the order of their pointers, so
// that the same request has the same answer.
func invalid(fields []domain.Field) error {
	if len(fields) == 0 {
		return nil
	}
	return invalidFields(fields)
}

func invalidFields(fields []domain.Field) *domain.Error {
	slices.SortFunc(fields, func(a, b domain.Field) int {
		return strings.Compare(a.Pointer+"\x00"+a.Code, b.Pointer+"\x00"+b.Code)
	})
	fields = slices.Compact(fields)
	e := domain.Invalid(codeRequestInvalid, "Parts of the request are not as the API's description says; errors lists them.")
	e.Fields = fields[:min(len(fields), maxFields)]
	return e
}

// maxFields bounds an answer to a request that is wrong everywhere.
const maxFields = 50

// parseValues parses a query or a form and refuses what JSON couldn't say:
// invalid UTF-8.
func parseValues(encoded string) (url.Values, error) {
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return nil, err
	}
	for name, given := range values {
		for _, text := range append(given[:len(given):len(given)], name) {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				return nil, errNotText
			}
		}
	}
	return values, nil
}

// echoed is a name as a caller sent it, cut to what an answer should repeat.
func echoed(name string) string {
	const most = 64
	if len(name) <= most {
		return name
	}
	cut := most
	for !utf8.RuneStart(name[cut]) {
		cut--
	}
	return name[:cut] + "…"
}
