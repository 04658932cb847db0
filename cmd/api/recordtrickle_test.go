package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A tenant that sends as much as it may, as slowly as it likes, has its share of the
// memory: neither others nor its own small requests wait for that.
func TestNeighbour_WhoSendsSlowlyHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	neighbour := *k
	neighbour.owner = k.tenant(t, k.api, "neighbour", tenancy.TenantScopes()...)
	neighbour.token = k.buyToken(t, neighbour.owner.key)
	neighbour.ask(t, "PUT", "", `{}`)
	k.create(t, "small", map[string]string{"items": "hello"})
	neighbour.create(t, "small", map[string]string{"items": "hello"})
	neighbour.create(t, "large", map[string]string{"items": strings.Repeat("x", 1<<20)})

	const uploads = 4
	admitted, turnedAway := make(chan io.Writer, uploads), make(chan string, uploads)
	for n := range uploads {
		upload := k.beginUpload(t, fmt.Sprint("slow-", n))
		go func() {
			line, _ := bufio.NewReader(upload).ReadString('\n')
			if strings.HasPrefix(line, "HTTP/1.1 100 ") {
				admitted <- upload
				return
			}
			turnedAway <- line
		}()
	}
	slow := <-admitted

	for n := range 20 {
		if _, err := io.WriteString(slow, " "); err != nil {
			t.Fatalf("the slow one was cut off: %v", err)
		}
		k.expectSoon(t, "GET", bodyAt("small", "items"), "")
		neighbour.expectSoon(t, "GET", bodyAt("small", "items"), "")
		neighbour.expectSoon(t, "GET", bodyAt("large", "items"), "")
		neighbour.expectSoon(t, "GET", at("large")+"?include=bodies", "")
		neighbour.expectSoon(t, "PUT", at(fmt.Sprint("new-", n)), publication(fmt.Sprint("new-", n), map[string]string{"items": "hello"}))
	}
	if len(admitted) > 0 {
		t.Error("one tenant sends two bodies that take more than half of the memory together")
	}
	if len(turnedAway) > 0 {
		t.Logf("meanwhile one of those that wait was told %q", <-turnedAway)
	}
}

// soon is much less than a request waits for room before it is refused.
const soon = 5 * time.Second

func (k *keeper) expectSoon(t testing.TB, method, path, body string) {
	t.Helper()
	precondition := ""
	if method == "PUT" {
		precondition = "If-None-Match: *"
	}
	began := time.Now()
	got := k.ask(t, method, path, body, precondition)
	if took := time.Since(began); got.status != http.StatusOK || took > soon {
		t.Errorf("%s %s: %d %.200s after %v", method, path, got.status, got.body, took)
	}
}

// beginUpload begins to publish a record with the longest body that is taken, and
// waits to be asked for it. The connection ends with the test.
func (k *keeper) beginUpload(t testing.TB, key string) net.Conn {
	t.Helper()
	target, err := url.Parse(k.ordered + at(key))
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", target.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	_, err = fmt.Fprintf(connection, "PUT %s HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"If-None-Match: *\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", target.EscapedPath(), k.token, 12<<20)
	if err != nil {
		t.Fatal(err)
	}
	return connection
}
