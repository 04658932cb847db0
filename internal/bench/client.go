package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// client calls one server. It keeps a connection a caller, and is as lean as
// net/http allows, since it shares the machine with what it measures.
type client struct {
	base  string
	token string
	http  *http.Client
}

func newClient(base string, callers int) *client {
	return &client{base: base, http: &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: callers,
		DisableCompression:  true,
	}}}
}

// call sends a request and demands the status. With into it decodes the answer,
// without it only reads it.
func (c *client) call(ctx context.Context, method, path string, body any, status int, into any) error {
	var payload []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		payload = b
	default:
		var err error
		if payload, err = json.Marshal(b); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	if payload != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.do(request, status, into)
}

func (c *client) do(request *http.Request, status int, into any) error {
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != status {
		problem, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("%s %s answered %d: %s", request.Method, request.URL.Path, response.StatusCode, problem)
	}
	if into != nil {
		return json.NewDecoder(response.Body).Decode(into)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func randomText(n int) string { return rand.Text()[:n] }
