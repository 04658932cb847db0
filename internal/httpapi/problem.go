package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// problem is a failure as it is answered. The middleware returns one where the
// domain has no word for what is wrong: what can't be parsed, a route that isn't
// there, a media type.
type problem struct {
	status     int
	code       string
	detail     string // plain words; never a schema, a submitted value, SQL or Go text
	fields     []domain.Field
	members    map[string]any // beside those of every problem (RFC 9457, section 3.2)
	retryAfter time.Duration  // 0 when a retry makes no sense
	challenge  string         // WWW-Authenticate
	cause      error          // for the log
}

func (p *problem) Error() string {
	text := p.code + ": " + p.detail
	if p.cause != nil {
		text += ": " + p.cause.Error()
	}
	return text
}

func (p *problem) Unwrap() error { return p.cause }

// malformed is for what can't be parsed. What can be parsed and is wrong is
// domain.Invalid.
func malformed(code, detail string) *problem {
	return &problem{status: http.StatusBadRequest, code: code, detail: detail}
}

func (p *problem) at(pointer string) *problem {
	p.fields = append(p.fields, domain.Field{Pointer: pointer, Code: p.code})
	return p
}

func (p *problem) because(cause error) *problem {
	p.cause = cause
	return p
}

// render writes the problem (RFC 9457). Allow was set by the router.
func (p *problem) render(c echo.Context) error {
	body := Problem{
		Type:      "urn:holdfast:problem:" + p.code,
		Title:     http.StatusText(p.status),
		Status:    p.status,
		Code:      p.code,
		Detail:    p.detail,
		RequestID: callOf(c.Request().Context()).requestID,
		Errors:    encodeFields(p.fields),
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	short, long := splitMembers(p.members)
	if len(short) > 0 {
		more, err := json.Marshal(short)
		if err != nil {
			return err
		}
		text = append(append(text[:len(text)-1], ','), more[1:]...)
	}
	p.setHeaders(c.Response().Header())
	if len(long) == 0 {
		return c.Blob(p.status, mediaProblem, text)
	}
	c.Response().Header().Set("Content-Type", mediaProblem)
	c.Response().WriteHeader(p.status)
	return writeWith(c.Response(), text, long)
}

// encodeFields gives nil where there are none.
func encodeFields(fields []domain.Field) *[]FieldError {
	if len(fields) == 0 {
		return nil
	}
	encoded := encodeAll(fields, func(f domain.Field) FieldError { return FieldError{Pointer: f.Pointer, Code: f.Code} })
	return &encoded
}

// splitMembers tells those apart that are too long to be held as text.
func splitMembers(members map[string]any) (short map[string]any, long map[string]jsonWriter) {
	short, long = map[string]any{}, map[string]jsonWriter{}
	for name, value := range members {
		if written, is := value.(jsonWriter); is {
			long[name] = written
		} else {
			short[name] = value
		}
	}
	return short, long
}

// writeWith writes an object, and the long members as its last ones.
func writeWith(w io.Writer, object []byte, long map[string]jsonWriter) error {
	if _, err := w.Write(object[:len(object)-1]); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(long)) {
		if _, err := fmt.Fprintf(w, ",%q:", name); err != nil {
			return err
		}
		if err := long[name].writeJSON(w); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "}")
	return err
}

// wholeSeconds never says too early.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func (p *problem) setHeaders(h http.Header) {
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(wholeSeconds(p.retryAfter)))
	}
	if p.challenge != "" {
		h.Set("WWW-Authenticate", p.challenge)
	}
	if p.status == http.StatusRequestTimeout {
		h.Set("Connection", "close") // RFC 9110, section 15.5.9: the rest would be read as a request
	}
	h.Set("Cache-Control", "no-store")
}
