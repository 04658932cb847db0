package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProbe_OnlyTheStatus200IsWell(t *testing.T) {
	t.Parallel()
	answers := http.NewServeMux()
	answers.HandleFunc("/well", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	answers.HandleFunc("/unready", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "draining", http.StatusServiceUnavailable) })
	answers.Handle("/elsewhere", http.RedirectHandler("/well", http.StatusFound))
	answers.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	server := httptest.NewServer(answers)
	t.Cleanup(server.Close)
	// A proxy that the environment names has no say: it would answer for the process.
	environ := []string{"HTTP_PROXY=" + server.URL + "/well"}

	for path, want := range map[string]result{
		"/well":      {exitOK, "ok\n", ""},
		"/unready":   {exitFailed, "", "holdfast: 503 Service Unavailable draining\n"},
		"/elsewhere": {exitFailed, "", "holdfast: 302 Found <a href=\"/well\">Found</a>.\n"},
	} {
		if diff := cmp.Diff(want, execute(t, environ, "probe", server.URL+path), cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	if got := execute(t, environ, "probe", server.URL+"/hangs", "--timeout", "50ms"); got.code != exitFailed {
		t.Errorf("without an answer: %+v", got)
	}
	server.Close()
	if got := execute(t, environ, "probe", server.URL+"/well"); got.code != exitFailed {
		t.Errorf("when nobody listens: %+v", got)
	}
	if got := execute(t, environ, "probe", "::"); got.code != exitUsage {
		t.Errorf("what is no URL: %+v", got)
	}
}
