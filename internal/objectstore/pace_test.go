package objectstore_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// answering is a store that is nothing but its answers.
type answering func(r *http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// status is an answer of S3's, with header entries as name and value.
func status(r *http.Request, code int, header ...string) *http.Response {
	answer := &http.Response{StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}
	for i := 0; i < len(header); i += 2 {
		answer.Header.Set(header[i], header[i+1])
	}
	return answer
}

// openFake opens a bucket of a store that is nothing but its answers.
func openFake(t *testing.T, store http.RoundTripper, change ...func(*objectstore.Settings)) *objectstore.Bucket {
	t.Helper()
	s := objectstore.Settings{Endpoint: "https://store.example", Bucket: "bucket", PathStyle: true, AccessKey: "key", SecretKey: "secret", Transport: store}
	for _, c := range change {
		c(&s)
	}
	bucket, err := objectstore.Open(t.Context(), s, objectstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

func fetchSomething(ctx context.Context, b *objectstore.Bucket) error {
	_, err := b.Fetch(ctx, "key", [32]byte{}, 1)
	return err
}

func TestRetryAfter_IsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func() string{
		"seconds": func() string { return "7" },
		"a date":  func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []time.Time
			b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
				asked = append(asked, time.Now())
				if len(asked) == 1 {
					return status(r, 429, "Retry-After", after()), nil
				}
				return status(r, 403), nil
			}))
			wantCode(t, fetchSomething(t.Context(), b), isUnavailable)
			if len(asked) != 2 || asked[1].Sub(asked[0]) != 7*time.Second {
				t.Errorf("%s: asked at %v, want 7 s apart", name, asked)
			}
		})
	}
}

func TestRetryAfter_TooLong_IsTheCallersToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			tries++
			return status(r, 503, "Retry-After", "3600"), nil
		}))
		begun := time.Now()
		err := fetchSomething(t.Context(), b)
		wantCode(t, err, isUnavailable)
		var e *domain.Error
		if !errors.As(err, &e) || e.RetryAfter != time.Hour {
			t.Errorf("the caller may retry after %v, want an hour", e.RetryAfter)
		}
		if tries != 1 || time.Since(begun) != 0 {
			t.Errorf("%d tries in %s", tries, time.Since(begun))
		}
	})
}

func TestPause_BeyondTheDeadline_IsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			return status(r, 429, "Retry-After", "5"), nil
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		defer cancel()
		begun := time.Now()
		wantCode(t, fetchSomething(ctx, b), isUnavailable)
		if time.Since(begun) != 0 {
			t.Errorf("it took %s", time.Since(begun))
		}
	})
}

func TestPause_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			return status(r, 429, "Retry-After", "5"), nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := fetchSomething(ctx, b); !errors.Is(err, context.Canceled) || domain.KindOf(err) != domain.KindInternal {
			t.Errorf("got %v, want the context's own error", err)
		}
	})
}

func TestTries_AreBoundedAndPausesGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, time.Now())
			return status(r, 500), nil
		}), func(s *objectstore.Settings) { s.MaxAttempts = 12 })
		wantCode(t, fetchSomething(t.Context(), b), isUnavailable)
		if len(asked) != 12 {
			t.Fatalf("%d tries", len(asked))
		}
		longest := 50 * time.Millisecond
		for i := 1; i < len(asked); i++ {
			if pause := asked[i].Sub(asked[i-1]); pause > longest {
				t.Errorf("the pause before try %d is %s, more than %s", i+1, pause, longest)
			}
			longest = min(2*longest, 5*time.Second)
		}
		if whole := asked[11].Sub(asked[0]); whole < time.Second {
			t.Errorf("all pauses together are %s", whole)
		}
	})
}

func TestTries_EachHasItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			tries++
			<-r.Context().Done()
			return nil, r.Context().Err()
		}))
		begun := time.Now()
		wantCode(t, fetchSomething(t.Context(), b), isUnavailable)
		if took := time.Since(begun); tries != 6 || took < 180*time.Second || took > 183*time.Second {
			t.Errorf("%d tries in %s, want 6 of 30 s", tries, took)
		}
	})
}

func TestConcurrency_IsBounded_AndWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		free := make(chan struct{})
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			<-free
			return status(r, 403), nil
		}), func(s *objectstore.Settings) { s.MaxConcurrency = 3 })

		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { fetchSomething(t.Context(), b) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := fetchSomething(ctx, b); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting ended with %v", err)
		}
		if n := sent.Load(); n != 3 {
			t.Errorf("%d requests are under way, want 3", n)
		}
		close(free)
		all.Wait()
		if n := sent.Load(); n != 5 {
			t.Errorf("%d requests were made, want those of the five who stayed", n)
		}
	})
}

func TestConcurrency_FallsWhenTheStoreHasTooMuch_AndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var busy, most atomic.Int32
		var overloaded atomic.Bool
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			n := busy.Add(1)
			defer busy.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(10 * time.Millisecond)
			if overloaded.Load() {
				return status(r, 503), nil
			}
			return status(r, 403), nil
		}), func(s *objectstore.Settings) { s.MaxConcurrency, s.MaxAttempts = 16, 1 })
		atOnce := func(rounds int) int32 {
			most.Store(0)
			var all sync.WaitGroup
			for range 16 * rounds {
				all.Go(func() { fetchSomething(t.Context(), b) })
			}
			all.Wait()
			return most.Load()
		}
		if n := atOnce(2); n != 16 {
			t.Errorf("%d at once, want 16", n)
		}
		overloaded.Store(true)
		atOnce(1) // 16 that are told the same: one cut
		overloaded.Store(false)
		if n := atOnce(1); n < 8 || n > 10 {
			t.Errorf("%d at once after one cut, want half, and one more a round", n)
		}
		if n := atOnce(100); n != 16 {
			t.Errorf("%d at once in the end, want all 16 again", n)
		}
	})
}
