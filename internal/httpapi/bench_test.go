package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// sink is a response that is thrown away.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// BenchmarkMiddleware is what a request costs before and after its domain call,
// without the network.
func BenchmarkMiddleware(b *testing.B) {
	for name, q := range map[string]struct{ method, target, body string }{
		"livez":  {"GET", "/livez", ""},
		"get":    {"GET", accountPath, ""},
		"list":   {"GET", "/v1/accounts?limit=10&status=active", ""},
		"lookup": {"POST", "/v1/accounts/lookup", `{"handle":"ada.lovelace"}`},
		"create": {"POST", "/v1/accounts", `{"handle":"ada.lovelace","email":"ada@example.com","email_verified":true,"attributes":{"plan":"pro"}}`},
	} {
		b.Run(name, func(b *testing.B) {
			a := newTestAPI(b, testOptions{discard: true})
			w := &sink{header: make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(q.method, q.target, strings.NewReader(q.body))
				r.Header.Set("Authorization", "Bearer tenant")
				if q.body != "" {
					r.Header.Set("Content-Type", "application/json")
				}
				clear(w.header)
				a.ServeHTTP(w, r)
			}
			if w.status >= 300 {
				b.Fatalf("status %d", w.status)
			}
		})
	}
}

// BenchmarkRequestAlone is what the benchmark's own request costs.
func BenchmarkRequestAlone(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/accounts", strings.NewReader(`{"handle":"ada.lovelace"}`))
		r.Header.Set("Authorization", "Bearer tenant")
	}
}
