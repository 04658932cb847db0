package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// maxBody is how long a body may be, in bytes.
const maxBody = 1 << 20

// validateBody reads the body, holds it against its schema, and leaves the text
// that was judged for the handler: JSON for bind, a form for the request.
func (o *operation) validateBody(c echo.Context) error {
	r := c.Request()
	if o.body == nil {
		return refuseBody(r)
	}
	text, err := readBody(c)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		if o.body.required {
			return malformed("body_missing", "The operation needs a body.")
		}
		return nil
	}
	media, schema, err := o.body.schemaFor(r.Header)
	if err != nil {
		return err
	}
	// The generated code compares it byte by byte.
	r.Header.Set("Content-Type", media)

	var value any
	if media == mediaForm {
		value, err = parseForm(text)
		r.Body = io.NopCloser(bytes.NewReader(text))
	} else {
		value, err = parseJSON(text)
		callOf(r.Context()).body = text
	}
	if err != nil {
		return err
	}
	if err := schema.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		return invalid(append(schemaFields("", err), refusedFields(schema, value)...))
	}
	return nil
}

// refuseBody refuses a body that nobody would look at.
func refuseBody(r *http.Request) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	var first [1]byte
	switch _, err := io.ReadFull(r.Body, first[:]); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return unreadable(err)
	}
	return malformed("body_unexpected", "The operation takes no body.")
}

func readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	var buffer bytes.Buffer
	if r.ContentLength > 0 {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(http.MaxBytesReader(c.Response(), r.Body, maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, tooLarge()
	case err != nil:
		return nil, unreadable(err)
	}
	return buffer.Bytes(), nil
}

// unreadable is for a body that didn't come to its end: too slow for the
// server's read timeout, or broken off.
func unreadable(cause error) *problem {
	if errors.Is(cause, os.ErrDeadlineExceeded) {
		return (&problem{
			status: http.StatusRequestTimeout, code: "request_timeout",
			detail: "The body took too long to arrive. Nothing was done.",
		}).because(cause)
	}
	return malformed("body_unreadable", "The body broke off before its end.").because(cause)
}

func tooLarge() error {
	return domain.TooLarge("body_too_large", "The body has more than 1 MiB.")
}

// schemaFor picks the schema of the media type that the headers name.
func (b *bodyRule) schemaFor(h http.Header) (media string, schema *openapi3.Schema, err error) {
	types, encodings := h.Values("Content-Type"), h.Values("Content-Encoding")
	if len(types) != 1 || len(encodings) > 0 && !strings.EqualFold(encodings[0], "identity") {
		return "", nil, b.unsupported()
	}
	media, parameters, err := mime.ParseMediaType(types[0])
	if err != nil || b.media[media] == nil {
		return "", nil, b.unsupported()
	}
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return "", nil, b.unsupported()
		}
	}
	return media, b.media[media], nil
}

func (b *bodyRule) unsupported() error {
	known := make([]string, 0, len(b.media))
	for _, media := range []string{mediaJSON, mediaMergePatch, mediaForm} {
		if b.media[media] != nil {
			known = append(known, media)
		}
	}
	return &problem{
		status: http.StatusUnsupportedMediaType,
		code:   "media_type_unsupported",
		detail: "The body must be, in UTF-8 and without a content encoding, " + strings.Join(known, " or ") + ".",
	}
}

// parseForm reads a form (RFC 6749, appendix B). A field without a value counts
// as absent, and none may come twice (section 3.2).
func parseForm(text []byte) (any, error) {
	values, err := parseValues(string(text))
	if err != nil {
		return nil, malformed("form_malformed", "The form can't be parsed.")
	}
	fields := make(map[string]any, len(values))
	for name, given := range values {
		if len(given) > 1 {
			return nil, malformed("form_field_repeated", "A field of the form comes twice.").at("/" + echoed(name))
		}
		if given[0] != "" {
			fields[name] = given[0]
		}
	}
	return fields, nil
}
