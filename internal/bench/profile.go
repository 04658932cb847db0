package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// profiled takes a CPU profile of the API over each round; the last one stays.
// It costs a few percent, so ratios are measured without.
func (s *stack) profiled(r round, file string) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		taken := make(chan error, 1)
		go func() { taken <- s.takeProfile(ctx, length, file) }()
		result, err := r(ctx, length)
		if failed := <-taken; err == nil {
			err = failed
		}
		return result, err
	}
}

func (s *stack) takeProfile(ctx context.Context, length time.Duration, file string) error {
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", s.private.base, int(length.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := s.private.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, response.Body)
	return err
}
