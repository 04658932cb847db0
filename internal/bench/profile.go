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

// profiled takes profiles of the process over each round, of CPU and of allocations,
// into files whose names begin with name; the last round's stay. It costs a few
// percent, so ratios are measured without.
func (o *observed) profiled(r round, name string) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		var taken errgroup.Group
		taken.Go(func() error { return o.profile(ctx, length, name) })
		result, err := r(ctx, length)
		if failed := taken.Wait(); err == nil {
			err = failed
		}
		return result, err
	}
}

// profile takes both profiles, for a time.
func (o *observed) profile(ctx context.Context, length time.Duration, name string) error {
	var taken errgroup.Group
	taken.Go(func() error { return o.takeProfile(ctx, "profile", length, name+".pprof") })
	taken.Go(func() error { return o.takeProfile(ctx, "allocs", length, name+".allocs.pprof") })
	return taken.Wait()
}

func (o *observed) takeProfile(ctx context.Context, kind string, length time.Duration, file string) error {
	url := fmt.Sprintf("%s/debug/pprof/%s?seconds=%d", o.private.base, kind, int(length.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := o.private.http.Do(request)
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
