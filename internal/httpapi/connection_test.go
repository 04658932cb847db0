package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// listen serves the API over TCP, where a request must arrive within the read
// timeout.
func (a *testAPI) listen(t *testing.T, readTimeout time.Duration) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(a)
	server.Config.ReadTimeout = readTimeout
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// exchange sends raw text, shuts down the sending half if told so, and reads the
// answer and its body.
func exchange(t *testing.T, server *httptest.Server, text string, shutdown bool) (*http.Response, *httptest.ResponseRecorder) {
	t.Helper()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	if shutdown {
		if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	w := httptest.NewRecorder()
	w.Code = response.StatusCode
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	if _, err := io.Copy(w.Body, response.Body); err != nil {
		t.Fatal(err)
	}
	return response, w
}

// The connection's own deadline is for bodies that are read before the work
// begins. A stream is read while it goes on, and has the operation's time.
func TestConnection_AStreamHasTheOperationsTime(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{timeout: time.Nanosecond}) // of the operations that don't say
	a.directory.arrived = make(chan identity.ImportLine)
	server := httptest.NewUnstartedServer(a)
	server.Config.ReadHeaderTimeout, server.Config.ReadTimeout, server.Config.WriteTimeout = time.Minute, time.Nanosecond, time.Nanosecond
	server.Start()
	t.Cleanup(server.Close)

	body, out := io.Pipe()
	go func() {
		defer out.Close()
		for range 3 {
			io.WriteString(out, `{"key":"k","account":{"handle":"a"}}`+"\n")
			<-a.directory.arrived // the next one is sent when this one is worked on
		}
	}()
	r, err := http.NewRequest("POST", server.URL+importPath, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer tenant")
	r.Header.Set("Content-Type", mediaNDJSON)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || strings.Count(string(text), "created") != 3 {
		t.Errorf("%d %s %v", response.StatusCode, text, err)
	}
}

const rawHead = " HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer tenant\r\nContent-Type: application/json\r\n"

const streamHead = " HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer tenant\r\nContent-Type: application/x-ndjson\r\n"

func TestConnection_ABodyThatDoesNotComeToItsEndIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text     string
		shutdown bool
		status   int
		code     string
	}{
		"too slow":                       {"POST /v1/accounts" + rawHead + "Content-Length: 50\r\n\r\n{\"handle\"", false, 408, "request_timeout"},
		"too slow in chunks":             {"POST /v1/accounts" + rawHead + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"han", false, 408, "request_timeout"},
		"too slow in a stream":           {"POST " + importPath + streamHead + "Content-Length: 500\r\n\r\n{}\n{\"key\"", false, 408, "request_timeout"},
		"too slow to begin a stream":     {"POST " + importPath + streamHead + "Content-Length: 500\r\n\r\n", false, 408, "request_timeout"},
		"broken off in a stream":         {"POST " + importPath + streamHead + "Content-Length: 500\r\n\r\n{}\n{\"key\"", true, 400, "body_unreadable"},
		"too slow where none is taken":   {"GET " + accountPath + rawHead + "Content-Length: 50\r\n\r\n", false, 408, "request_timeout"},
		"broken off":                     {"POST /v1/accounts" + rawHead + "Content-Length: 50\r\n\r\n{\"handle\"", true, 400, "body_unreadable"},
		"broken off where none is taken": {"GET " + accountPath + rawHead + "Content-Length: 50\r\n\r\n", true, 400, "body_unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if c.status == http.StatusRequestTimeout {
				timeout = 100 * time.Millisecond
			}
			a := newTestAPI(t, testOptions{pause: timeout})
			response, w := exchange(t, a.listen(t, timeout), c.text, c.shutdown)
			if p := problemIn(t, w); p.Status != c.status || p.Code != c.code {
				t.Errorf("%d %s", p.Status, p.Code)
			}
			if c.status == http.StatusRequestTimeout && !response.Close {
				t.Error("the connection stays open, and the rest would be taken for a request")
			}
			if a.directory.got != nil && len(a.directory.lines) == 0 {
				t.Errorf("the domain was called with %v", a.directory.got)
			}
		})
	}
}

func TestConnection_AHalfClosedCallerGetsItsTrueAnswer(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	canceled := make(chan struct{})
	a.directory.act = func(ctx context.Context) error {
		<-canceled // net/http has seen the end of what the caller sends
		return ctx.Err()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(canceled) })
		a.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	_, w := exchange(t, server, "GET "+accountPath+rawHead+"\r\n", true)
	if w.Code != http.StatusOK || w.Header().Get("ETag") != `"7"` || w.Body.Len() == 0 {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestConnection_HeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	server := a.listen(t, time.Minute)
	for target, status := range map[string]int{"/livez": 200, "/readyz": 200, "/v1/accounts": 401, "/v1/oauth/token": 405} {
		response, err := http.Head(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != status || len(body) > 0 || err != nil {
			t.Errorf("%s: %d %q %v", target, response.StatusCode, body, err)
		}
	}
	a.api.Drain()
	response, err := http.Head(server.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("draining, /readyz answers %d", response.StatusCode)
	}
}

func TestAddress_IsTheProxysWordOnlyWhereItIsBelieved(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
	for name, c := range map[string]struct {
		proxies         []netip.Prefix
		peer, forwarded string
		want            string
	}{
		"nobody in front":                    {nil, "10.0.0.9:1", "203.0.113.7", "10.0.0.9"},
		"the proxy":                          {proxies, "10.0.0.9:1", "203.0.113.7", "203.0.113.7"},
		"two of them":                        {proxies, "10.0.0.9:1", "203.0.113.7, 10.0.0.8", "203.0.113.7"},
		"what the caller wrote before":       {proxies, "10.0.0.9:1", "198.51.100.1, 203.0.113.7", "203.0.113.7"},
		"somebody who says that he is one":   {proxies, "203.0.113.9:1", "198.51.100.1", "203.0.113.9"},
		"a private address that is no proxy": {proxies, "192.168.0.9:1", "198.51.100.1", "192.168.0.9"},
		"a proxy that says nothing":          {proxies, "10.0.0.9:1", "", "10.0.0.9"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := callerAddress(c.proxies)(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
