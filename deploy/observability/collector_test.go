package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes traces in as OpenTelemetry's does, over http.
type collector struct {
	url string

	mu    sync.Mutex
	spans []*span
}

// span is one that a process has sent.
type span struct {
	*tracepb.Span
	service    string
	scope      string
	attributes map[string]string
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent tracepb.TracesData // on the wire the same as the request
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range sent.ResourceSpans {
		service := textsOf(resource.Resource.Attributes)["service.name"]
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, &span{s, service, scope.Scope.Name, textsOf(s.Attributes)})
			}
		}
	}
}

func textsOf(attributes []*commonpb.KeyValue) map[string]string {
	texts := map[string]string{}
	for _, a := range attributes {
		if text, ok := a.Value.Value.(*commonpb.AnyValue_StringValue); ok {
			texts[a.Key] = text.StringValue
		} else {
			texts[a.Key] = a.Value.String()
		}
	}
	return texts
}

// all are the spans that have come so far.
func (c *collector) all() []*span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*span(nil), c.spans...)
}
