package testkit

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// Proxied puts the network before a store on plain http, on a port of its own
// until the test ends, and gives the settings that lead there. Requests keep their
// host, so their signatures hold.
func (f *StoreFaults) Proxied(t testing.TB, s objectstore.Settings) objectstore.Settings {
	t.Helper()
	store, err := url.Parse(s.Endpoint)
	if err != nil || store.Scheme != "http" {
		t.Fatalf("a proxy needs a store on plain http, not %s", s.Endpoint)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI = "" // the client's, which sends none
		out.URL.Scheme, out.URL.Host = store.Scheme, store.Host
		f.serve(w, out)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	s.Endpoint = front.URL
	return s
}

func (f *StoreFaults) serve(w http.ResponseWriter, r *http.Request) {
	answer, err := f.RoundTrip(r)
	if err != nil {
		breakOff(w)
		return
	}
	defer answer.Body.Close()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	// Otherwise the server announces the length of a short body by itself.
	_ = http.NewResponseController(w).Flush()
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// breakOff ends the connection within the first line of an answer: at its very
// begin, Go's client would take it for one that was closed while idle, and send a
// GET once more by itself.
func breakOff(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 ")
	conn.Close()
}
