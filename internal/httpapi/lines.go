package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// lineLimits bound a stream of lines.
type lineLimits struct {
	most  int // lines
	bytes int // of a line, without its end
}

// newLineLimits is nil for a media type that isn't a stream.
func newLineLimits(e extensions) (*lineLimits, error) {
	most, err := e.number(extensionMaxLines, 0)
	if err != nil {
		return nil, err
	}
	bytes, err := e.number(extensionMaxLineBytes, 0)
	switch {
	case err != nil:
		return nil, err
	case most == 0 && bytes == 0:
		return nil, nil
	case most == 0 || bytes == 0:
		return nil, fmt.Errorf("%s and %s come together", extensionMaxLines, extensionMaxLineBytes)
	}
	return &lineLimits{int(most), int(bytes)}, nil
}

// lines is a body of newline-delimited JSON on its way in. It keeps one line at
// a time.
type lines struct {
	ctx    context.Context // the request's
	reader *bufio.Reader
	schema *openapi3.Schema
	limits lineLimits
	read   int // lines that were begun
}

// openStream leaves the body's lines for the handler. A body that has nothing in
// it is missing, like any other.
func (s *server) openStream(c echo.Context, body *bodyRule, rule *mediaRule) error {
	r := c.Request()
	limited := http.MaxBytesReader(c.Response(), newPausing(c, s.pause), body.maxBytes)
	l := &lines{
		ctx:    r.Context(),
		reader: bufio.NewReaderSize(limited, rule.stream.bytes+len("\n")),
		schema: rule.schema,
		limits: *rule.stream,
	}
	switch _, err := l.reader.Peek(1); {
	case errors.Is(err, io.EOF) && body.required:
		return bodyMissing()
	case err != nil && !errors.Is(err, io.EOF):
		return unreadable(err)
	}
	callOf(r.Context()).lines = l
	return nil
}

// atMost lowers how many lines there may be.
func (l *lines) atMost(most int64) { l.limits.most = int(min(int64(l.limits.most), most)) }

// line is one line as it was read.
type line struct {
	value any           // as parseJSON gives it; nil where it is not JSON
	wrong *domain.Error // what is wrong with this line alone, or nil
}

// next reads the next line and binds it, unless it is wrong. The error is io.EOF
// behind the last one, or why no more can be read; it says that the lines before
// may have had their effect.
func (l *lines) next(into any) (line, error) {
	text, err := l.text()
	switch {
	case err != nil:
		return line{}, err
	case text == nil:
		return line{wrong: domain.TooLarge("line_too_long", fmt.Sprintf("The line has more than %d KiB.", l.limits.bytes>>10))}, nil
	}
	value, err := l.decode(text, into)
	return line{value, lineError(err)}, nil
}

// text gives the next line's, nil for one that is too long, or io.EOF.
func (l *lines) text() ([]byte, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	text, err := l.reader.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF) && len(text) == 0:
		return nil, io.EOF
	case l.read == l.limits.most:
		return nil, partly(&problem{
			status: statusOf(domain.KindTooLarge), code: "too_many_lines",
			detail: fmt.Sprintf("A request has at most %d lines.", l.limits.most),
		})
	}
	l.read++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, l.skip()
	case err != nil && !errors.Is(err, io.EOF):
		return nil, partly(unreadable(err))
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// skip reads the rest of a line.
func (l *lines) skip() error {
	for {
		switch _, err := l.reader.ReadSlice('\n'); {
		case err == nil, errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return partly(unreadable(err))
		}
	}
}

// decode judges a line as any JSON body is judged, and binds it.
func (l *lines) decode(text []byte, into any) (value any, err error) {
	if value, err = parseJSON(text); err != nil {
		return nil, err
	}
	if err := judge(l.schema, value); err != nil {
		return value, err
	}
	return value, bind(text, into)
}

// lineError gives what is wrong with a line the form of a failure of the domain,
// so that all of a stream's results have one.
func lineError(err error) *domain.Error {
	var known *domain.Error
	var edge *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &edge):
		return &domain.Error{Kind: domain.KindInvalid, Code: edge.code, Detail: edge.detail, Fields: edge.fields}
	default:
		return domain.Invalid("json_malformed", "The line can't be read.").Because(err)
	}
}

// partly says of a failure in the middle of a stream what it leaves.
func partly(p *problem) *problem {
	p.detail += " Lines before that may have had their effect; it is safe to send all of them again."
	return p
}
