package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// wire is one caller's connection. It sends requests whose heads were written
// beforehand, and waits for each answer on the caller's own goroutine: half of
// what net/http's client costs, on a machine that the product shares.
type wire struct {
	conn   net.Conn
	in     *bufio.Reader
	head   []byte // room for one that is written anew for each request
	out    []byte
	answer bytes.Buffer // the last one's body
}

// head is the head of a request with a body of JSON, or of a GET, as the client's
// principal, up to the length of its body. The header lines are of the caller's.
func (c *client) head(method, path string, lines ...string) []byte {
	media := mediaJSON
	if method == http.MethodGet {
		media = ""
	}
	return c.appendHead(nil, method, path, media, lines...)
}

// appendHead writes a head behind what is there.
func (c *client) appendHead(to []byte, method, path, media string, lines ...string) []byte {
	line := func(texts ...string) {
		for _, text := range texts {
			to = append(to, text...)
		}
		to = append(to, "\r\n"...)
	}
	line(method, " ", path, " HTTP/1.1")
	line("Host: ", c.host())
	line("Authorization: Bearer ", c.token)
	if media != "" {
		line("Content-Type: ", media)
	}
	for _, given := range lines {
		line(given)
	}
	return append(to, "Content-Length: "...)
}

func (c *client) host() string { return strings.TrimPrefix(c.base, "http://") }

// call sends a request, reads its answer and demands the status.
func (w *wire) call(head, body []byte, status int) error {
	answered, err := w.exchange(head, body)
	if err == nil && answered != status {
		err = w.unexpected(head, answered)
	}
	return err
}

func (w *wire) unexpected(head []byte, status int) error {
	return fmt.Errorf("%.60q… answered %d: %.1000s", head, status, w.answer.Bytes())
}

// exchange sends a request, reads its answer and gives the status.
func (w *wire) exchange(head, body []byte) (status int, err error) {
	w.out = append(w.out[:0], head...)
	w.out = strconv.AppendInt(w.out, int64(len(body)), 10)
	w.out = append(append(w.out, "\r\n\r\n"...), body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return 0, err
	}
	w.answer.Reset()
	_, err = w.answer.ReadFrom(response.Body)
	return response.StatusCode, err
}

// patience is how long an answer may be late at a round's end.
const patience = 30 * time.Second

// overWires is closedLoop with a connection for each caller.
func (c *client) overWires(ctx context.Context, callers int, length time.Duration, op func(w *wire, caller int) error) (Result, error) {
	wires := make([]*wire, callers)
	for i := range wires {
		conn, err := net.DialTimeout("tcp", c.host(), 5*time.Second)
		if err != nil {
			return Result{}, err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(length + patience)); err != nil {
			return Result{}, err
		}
		wires[i] = &wire{conn: conn, in: bufio.NewReader(conn)}
	}
	ended := context.AfterFunc(ctx, func() {
		for _, w := range wires {
			w.conn.Close()
		}
	})
	defer ended()
	return closedLoop(ctx, callers, length, func(_ context.Context, caller int) error { return op(wires[caller], caller) })
}
