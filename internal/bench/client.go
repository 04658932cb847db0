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

// The media types of bodies.
const (
	mediaJSON  = "application/json"
	mediaForm  = "application/x-www-form-urlencoded"
	mediaLines = "application/x-ndjson"
)

// call sends a request and demands the status. With into it decodes the answer,
// without it only reads it.
func (c *client) call(ctx context.Context, method, path string, body any, status int, into any) error {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	return c.do(request, status, into)
}

// request has a body of JSON: bytes as they are, anything else marshalled, or
// none for nil.
func (c *client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var payload []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		payload = b
	default:
		var err error
		if payload, err = json.Marshal(b); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	if payload != nil {
		request.Header.Set("Content-Type", mediaJSON)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// send sends a body of another media type than JSON, and reads the answer.
func (c *client) send(ctx context.Context, path, media string, body []byte, status int) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", media)
	if c.token != "" && media != mediaForm {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("POST %s answered %d: %.1000s", path, response.StatusCode, answer)
	}
	return answer, err
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
