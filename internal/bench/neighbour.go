package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// noisemakers is how many callers the other tenant has.
const noisemakers = 64

// noisyRate is how many requests a second it may send.
const noisyRate = 200

// Neighbour measures what one caller of a tenant has left while another tenant sends
// all that it can.
func Neighbour(ctx context.Context, o Options) ([]Outcome, error) {
	if err := o.verify(); err != nil {
		return nil, err
	}
	s, err := newStack(ctx, o.Environ, 1, o.Log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	limited, err := s.neighbour(ctx, map[string]any{"requests_per_second": noisyRate})
	if err != nil {
		return nil, err
	}
	usual, err := s.neighbour(ctx, nil)
	if err != nil {
		return nil, err
	}
	alone := func() []Reference { return against("alone", "the same caller, alone", 0, s.createAlone()) }
	return o.measure(ctx, s, []Comparison{
		{
			What:       "beside a tenant over its rate that waits",
			Product:    fmt.Sprintf("POST /v1/accounts, one caller, beside %d of a tenant with %d requests a second, who obey Retry-After", noisemakers, noisyRate),
			product:    inNoise(limited.noise(true), s.createAlone()),
			References: alone(),
		},
		{
			What:       "beside a tenant over its rate that doesn't",
			Product:    "the same, and they come again at once",
			product:    inNoise(limited.noise(false), s.createAlone()),
			References: alone(),
		},
		{
			What:       "beside a tenant within the default limits",
			Product:    fmt.Sprintf("POST /v1/accounts, one caller, beside %d who do the same as fast as they can", noisemakers),
			product:    inNoise(usual.noise(true), s.createAlone()),
			References: alone(),
		},
	})
}

// noisy is the other tenant.
type noisy struct{ client *client }

// neighbour makes another tenant with limits of its own; nil for the default.
func (s *stack) neighbour(ctx context.Context, limits map[string]any) (noisy, error) {
	tenant, err := s.newTenant(ctx, noisemakers)
	if err != nil || limits == nil {
		return noisy{tenant.client}, err
	}
	return noisy{tenant.client}, s.limit(ctx, tenant.id, limits)
}

// createAlone creates account after account.
func (s *stack) createAlone() round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, 1, length, func(ctx context.Context, _ int) error {
			return s.tenant.call(ctx, http.MethodPost, "/v1/accounts", newHandle(), http.StatusCreated, nil)
		})
	}
}

func newHandle() []byte { return []byte(`{"handle":"` + strings.ToLower(randomText(20)) + `"}`) }

// noise has all callers of a tenant create accounts until ctx ends. Whoever waits
// obeys Retry-After.
func (n noisy) noise(waits bool) func(ctx context.Context) {
	return func(ctx context.Context) {
		var all sync.WaitGroup
		for range noisemakers {
			all.Go(func() {
				for ctx.Err() == nil {
					after := n.create(ctx)
					if waits && after > 0 {
						select {
						case <-ctx.Done():
						case <-time.After(after):
						}
					}
				}
			})
		}
		all.Wait()
	}
}

// create creates an account, whatever is answered, and gives Retry-After.
func (n noisy) create(ctx context.Context) (after time.Duration) {
	request, err := n.client.request(ctx, http.MethodPost, "/v1/accounts", newHandle())
	if err != nil {
		return 0
	}
	response, err := n.client.http.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body) // so that the connection is used again
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second
}

// inNoise runs a round while there is noise.
func inNoise(noise func(context.Context), quiet round) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		noisyCtx, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		all.Go(func() { noise(noisyCtx) })
		defer all.Wait()
		defer stop()
		return quiet(ctx, length)
	}
}
