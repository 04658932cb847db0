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
	out    []byte
	answer bytes.Buffer // the last one's body
}

// head is the head of a request as the client's principal, up to the length of
// its body. The header lines are of the caller's.
func (c *client) head(method, path string, lines ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n", method, path, c.host(), c.token)
	if method != http.MethodGet {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", mediaJSON)
	}
	for _, line := range lines {
		b.WriteString(line + "\r\n")
	}
	b.WriteString("Content-Length: ")
	return b.Bytes()
}

func (c *client) host() string { return strings.TrimPrefix(c.base, "http://") }

// call sends a request, reads its answer and demands the status.
func (w *wire) call(head, body []byte, status int) error {
	w.out = append(w.out[:0], head...)
	w.out = strconv.AppendInt(w.out, int64(len(body)), 10)
	w.out = append(append(w.out, "\r\n\r\n"...), body...)
	if _, err := w.conn.Write(w.out); err != nil {
		return err
	}
	response, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return err
	}
	w.answer.Reset()
	if _, err := w.answer.ReadFrom(response.Body); err != nil {
		return err
	}
	if response.StatusCode != status {
		return fmt.Errorf("%.60q… answered %d: %.1000s", head, response.StatusCode, w.answer.Bytes())
	}
	return nil
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
