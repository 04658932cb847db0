package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// defaultMaxBytes is how long a body may be where the operation doesn't say.
const defaultMaxBytes = 1 << 20

// validateBody reads the body, holds it against its schema, and leaves the text
// that was judged for the handler: JSON for bind, a form for the request. Of a
// stream it reads nothing but whether there is one: its lines are judged one by
// one, as the handler asks for them. Of parts it reads nothing.
func (s *server) validateBody(c echo.Context, o *operation) error {
	r := c.Request()
	if o.body == nil {
		return refuseBody(r)
	}
	if r.ContentLength > o.body.maxBytes {
		return tooLarge(o.body.maxBytes)
	}
	media, rule, unsupported := o.body.ruleFor(r.Header)
	switch {
	case unsupported != nil:
		return o.body.refuseUnread(r, unsupported)
	case rule.stream != nil:
		return s.openStream(c, o.body, rule)
	}
	if o.body.maxBytes > largeBody {
		if err := s.makeRoom(c, o.body, media); err != nil {
			return err
		}
	}
	if rule.part != "" {
		r.Body = http.MaxBytesReader(c.Response(), r.Body, o.body.maxBytes)
		return nil
	}
	text, err := readBody(c, o.body.maxBytes)
	switch {
	case err != nil:
		return err
	case len(text) == 0 && o.body.required:
		return bodyMissing()
	case len(text) == 0:
		return nil
	}
	if media == mediaForm {
		fields, err := parseForm(text)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(strings.NewReader(fields.Encode()))
		return judge(rule.schema, formValue(fields))
	}
	value, err := parseJSON(text)
	if err != nil {
		return err
	}
	callOf(r.Context()).body = text
	return judge(rule.schema, value)
}

// judge holds a value against its schema.
func judge(schema *openapi3.Schema, value any) error {
	if err := schema.VisitJSON(value, openapi3.MultiErrors()); err != nil {
		return invalid(append(schemaFields("", err), refusedFields(schema, value)...))
	}
	return nil
}

// refuseBody refuses a body that nobody would look at.
func refuseBody(r *http.Request) error {
	none, err := bodiless(r)
	if err != nil || none {
		return err
	}
	return malformed("body_unexpected", "The operation takes no body.")
}

// refuseUnread is for a body that isn't of a media type that the operation takes,
// unless there is none.
func (b *bodyRule) refuseUnread(r *http.Request, unsupported error) error {
	if r.ContentLength > 0 {
		return unsupported
	}
	none, err := bodiless(r)
	switch {
	case err != nil:
		return err
	case !none:
		return unsupported
	case b.required:
		return bodyMissing()
	}
	return nil
}

// bodiless tells whether there is no body. It reads no more than a byte of one.
func bodiless(r *http.Request) (bool, error) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return true, nil
	}
	var first [1]byte
	switch _, err := io.ReadFull(r.Body, first[:]); {
	case errors.Is(err, io.EOF):
		return true, nil
	case err != nil:
		return false, unreadable(err)
	}
	return false, nil
}

func readBody(c echo.Context, maxBytes int64) ([]byte, error) {
	r := c.Request()
	var buffer bytes.Buffer
	if r.ContentLength > 0 {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(http.MaxBytesReader(c.Response(), r.Body, maxBytes)); err != nil {
		return nil, unreadable(err)
	}
	return buffer.Bytes(), nil
}

// unreadable is for a body that didn't come to its end: too slow, too long, or
// broken off.
func unreadable(cause error) *problem {
	var limit *http.MaxBytesError
	switch {
	case errors.As(cause, &limit):
		return tooLarge(limit.Limit)
	case errors.Is(cause, os.ErrDeadlineExceeded):
		return (&problem{
			status: http.StatusRequestTimeout, code: "request_timeout", detail: "The body took too long to arrive.",
		}).because(cause)
	default:
		return malformed("body_unreadable", "The body broke off before its end.").because(cause)
	}
}

func tooLarge(maxBytes int64) *problem {
	return &problem{status: statusOf(domain.KindTooLarge), code: "body_too_large", detail: fmt.Sprintf("The body has more than %d MiB.", maxBytes>>20)}
}

func bodyMissing() *problem { return malformed("body_missing", "The operation needs a body.") }

const maxBoundary = 70 // characters (RFC 2046, section 5.1.1)

// ruleFor picks the rule of the media type that the headers name.
func (b *bodyRule) ruleFor(h http.Header) (media string, rule *mediaRule, err error) {
	types, encodings := h.Values("Content-Type"), h.Values("Content-Encoding")
	if len(types) != 1 || len(encodings) > 0 && !strings.EqualFold(encodings[0], "identity") {
		return "", nil, b.unsupported()
	}
	media, parameters, err := mime.ParseMediaType(types[0])
	if err != nil || b.media[media] == nil {
		return "", nil, b.unsupported()
	}
	boundary, bounded := parameters["boundary"]
	delete(parameters, "boundary")
	if bounded != (media == mediaMultipart) || bounded && (boundary == "" || len(boundary) > maxBoundary) {
		return "", nil, b.unsupported()
	}
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return "", nil, b.unsupported()
		}
	}
	// The generated code compares it byte by byte.
	h.Set("Content-Type", media)
	if bounded {
		h.Set("Content-Type", mime.FormatMediaType(media, map[string]string{"boundary": boundary}))
	}
	return media, b.media[media], nil
}

func (b *bodyRule) unsupported() error {
	known := make([]string, 0, len(b.media))
	for _, media := range []string{mediaJSON, mediaMergePatch, mediaForm, mediaMultipart, mediaNDJSON} {
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

// parseForm reads a form (RFC 6749, appendix B). A field without a value is
// absent, and none may come twice (section 3.2).
func parseForm(text []byte) (url.Values, error) {
	fields, err := parseValues(string(text))
	if err != nil {
		return nil, malformed("form_malformed", "The form can't be parsed.")
	}
	for name, given := range fields {
		switch {
		case len(given) > 1:
			return nil, malformed("form_field_repeated", "A field of the form comes twice.").at("/" + echoed(name))
		case given[0] == "":
			delete(fields, name)
		}
	}
	return fields, nil
}

// formValue is a form as a schema judges it.
func formValue(fields url.Values) map[string]any {
	value := make(map[string]any, len(fields))
	for name := range fields {
		value[name] = fields.Get(name)
	}
	return value
}
