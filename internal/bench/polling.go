package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// authorize makes devices that wait for somebody to approve them, and gives
// what each of them polls with.
func (s *stack) authorize(ctx context.Context, n int) ([][]byte, error) {
	polls := make([][]byte, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pollers)
	for i := range n {
		group.Go(func() error {
			form := url.Values{"client_id": {s.oauth}}
			answer, err := s.tenant.send(ctx, "/v1/oauth/device_authorization", mediaForm, []byte(form.Encode()), http.StatusOK)
			if err != nil {
				return err
			}
			var device struct {
				Code string `json:"device_code"`
			}
			if err := json.Unmarshal(answer, &device); err != nil {
				return err
			}
			form.Set("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
			form.Set("device_code", device.Code)
			polls[i] = []byte(form.Encode())
			return nil
		})
	}
	return polls, group.Wait()
}

// poll polls for the devices in turn, faster than they may: nearly every answer
// is slow_down, which costs what authorization_pending costs.
func (s *stack) poll(devices [][]byte) round {
	var n atomic.Int64
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, pollers, length, func(ctx context.Context, _ int) error {
			device := devices[int(n.Add(1))%len(devices)]
			answer, err := s.tenant.send(ctx, "/v1/oauth/token", mediaForm, device, http.StatusBadRequest)
			if err == nil && !strings.Contains(string(answer), "slow_down") && !strings.Contains(string(answer), "authorization_pending") {
				err = fmt.Errorf("a poll was answered %s", answer)
			}
			return err
		})
	}
}

// touch has the reference update one row a request.
func touch(reference *client, ids []string) round {
	var n atomic.Int64
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, pollers, length, func(ctx context.Context, _ int) error {
			id := ids[int(n.Add(1))*7919%len(ids)]
			return reference.call(ctx, http.MethodPost, "/reference/"+id, nil, http.StatusNoContent, nil)
		})
	}
}
