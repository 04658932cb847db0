package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/web"
)

// described is one operation of the document.
type described struct {
	method, template string
	item             *openapi3.PathItem
	operation        *openapi3.Operation
}

func (d described) String() string { return d.method + " " + d.template }

// parameters are the operation's and its path's.
func (d described) parameters() openapi3.Parameters {
	return append(slices.Clone(d.item.Parameters), d.operation.Parameters...)
}

// spec is the document, operation by operation, in the order of their names.
type spec struct {
	doc        *openapi3.T
	operations []described
}

func loadSpec(t testing.TB) spec {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	s := spec{doc: doc}
	for template, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			s.operations = append(s.operations, described{method, template, item, operation})
		}
	}
	slices.SortFunc(s.operations, func(a, b described) int { return strings.Compare(a.String(), b.String()) })
	return s
}

// exchange is a request and its answer.
type exchange struct {
	op      described
	path    map[string]string // its parameters, unescaped unless rawPath
	query   string
	header  http.Header
	body    []byte
	rawPath bool // path parameters are escaped already

	status   int
	answer   []byte
	answered http.Header
}

func (x *exchange) clone() *exchange {
	c := *x
	c.header = x.header.Clone()
	c.body = slices.Clone(x.body)
	c.path = make(map[string]string, len(x.path))
	for name, value := range x.path {
		c.path[name] = value
	}
	return &c
}

var pathParameter = regexp.MustCompile(`\{[^}]*\}`)

func (x *exchange) target() string {
	path := pathParameter.ReplaceAllStringFunc(x.op.template, func(braced string) string {
		value := x.path[strings.Trim(braced, "{}")]
		if x.rawPath {
			return value
		}
		return url.PathEscape(value)
	})
	if x.query != "" {
		path += "?" + x.query
	}
	return path
}

// send sends the request, reads the answer, and holds it against the document.
func (s *subject) send(t testing.TB, x *exchange) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), x.op.method, s.api.url+x.target(), bytes.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = x.header.Clone()
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatalf("%v: %v", x.op, err)
	}
	defer response.Body.Close()
	if x.answer, err = readAnswer(response); err != nil {
		t.Fatalf("%v: %v", x.op, err)
	}
	x.status, x.answered = response.StatusCode, response.Header
	if err := x.validate(request); err != nil {
		t.Errorf("%v is answered otherwise than described: %v\nrequest  %s %s\nanswer   %d %v %s", x.op, err, x.target(), x.body, x.status, x.answered, x.answer)
	}
}

const mediaEvents = "text/event-stream"

// readAnswer reads an answer to its end, but for a stream of events, which has none:
// of that it reads the first block.
func readAnswer(response *http.Response) (answer []byte, err error) {
	if response.Header.Get("Content-Type") != mediaEvents {
		return io.ReadAll(response.Body)
	}
	lines := bufio.NewReader(response.Body)
	for !bytes.HasSuffix(answer, []byte("\n\n")) {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		answer = append(answer, line...)
	}
	return answer, nil
}

var uuidFormat = openapi3.NewCallbackValidator(func(s string) error {
	_, err := domain.ParseID[struct{}](s)
	return err
})

// validate holds the answer against the document, which describes no 5xx but
// an unready process.
func (x *exchange) validate(request *http.Request) error {
	if x.status >= http.StatusInternalServerError {
		return fmt.Errorf("status %d", x.status)
	}
	if x.answered.Get("X-Request-Id") == "" {
		return fmt.Errorf("no X-Request-Id")
	}
	if x.answered.Get("Content-Type") == mediaEvents && x.op.operation.Responses.Status(x.status).Value.Content[mediaEvents] != nil {
		return nil // what events hold is no matter of the document
	}
	if media, _, _ := strings.Cut(x.answered.Get("Content-Type"), ";"); media == "multipart/byteranges" && x.op.operation.Responses.Status(x.status).Value.Content[media] != nil {
		return nil // nor what ranges hold
	}
	if media := "application/x-ndjson"; x.answered.Get("Content-Type") == media {
		return x.validateLines(x.op.operation.Responses.Status(x.status).Value.Content[media].Schema.Value)
	}
	if media, _, _ := strings.Cut(x.answered.Get("Content-Type"), ";"); media != "text/plain" && strings.HasPrefix(media, "text/") && x.op.operation.Responses.Status(x.status).Value.Content[media] != nil {
		return nil // nor what a page holds
	}
	return openapi3filter.ValidateResponse(request.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: request,
			Route:   &routers.Route{Path: x.op.template, PathItem: x.op.item, Method: x.op.method, Operation: x.op.operation, Spec: &openapi3.T{OpenAPI: "3.0.3"}},
		},
		Status: x.status,
		Header: x.answered,
		Body:   io.NopCloser(bytes.NewReader(x.answer)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus:   true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidator("uuid", uuidFormat)},
		},
	})
}

// validateLines holds each line of a stream against the schema, which is a
// line's.
func (x *exchange) validateLines(schema *openapi3.Schema) error {
	for line := range bytes.Lines(x.answer) {
		var value any
		if err := json.Unmarshal(line, &value); err != nil {
			return err
		}
		if err := schema.VisitJSON(value, openapi3.VisitAsResponse()); err != nil {
			return err
		}
	}
	return nil
}
