package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

// profiled takes profiles of the API over each round, of CPU and of allocations,
// into files whose names begin with name; the last round's stay. It costs a few
// percent, so ratios are measured without.
func (s *stack) profiled(r round, name string) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		var taken errgroup.Group
		taken.Go(func() error { return s.takeProfile(ctx, "profile", length, name+".pprof") })
		taken.Go(func() error { return s.takeProfile(ctx, "allocs", length, name+".allocs.pprof") })
		result, err := r(ctx, length)
		if failed := taken.Wait(); err == nil {
			err = failed
		}
		return result, err
	}
}

func (s *stack) takeProfile(ctx context.Context, kind string, length time.Duration, file string) error {
	url := fmt.Sprintf("%s/debug/pprof/%s?seconds=%d", s.private.base, kind, int(length.Seconds()))
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
