package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// exported is a shelf with so many changes.
func exported(n int) *shelf {
	s := newShelf()
	for i := range n {
		s.changed(fmt.Sprint("k", i+1), []byte(fmt.Sprint("body ", i+1)))
	}
	return s
}

// keys are those that follow finds, until so many, or an error that ends it, and how
// far it came.
func keys(ctx context.Context, t *testing.T, s *shelf, options holdfast.FollowOptions, until int) (found []string, kept int64, errs []error) {
	kept = options.After
	for page, err := range holdfast.FollowExport(ctx, s.client(t), "orders", options) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, section := range page.Records {
			found = append(found, section.Key)
		}
		if kept = page.Next; len(found) >= until && until > 0 {
			break
		}
	}
	return found, kept, errs
}

func TestFollowExport_ReadsAllOnceAndFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := exported(5)
		go func() {
			for i := 5; i < 9; i++ {
				time.Sleep(time.Minute)
				s.changed(fmt.Sprint("k", i+1), []byte{})
			}
		}()
		found, kept, errs := keys(t.Context(), t, s, holdfast.FollowOptions{Bodies: true}, 9)
		if diff := cmp.Diff([]string{"k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"}, found); diff != "" || kept != 9 || errs != nil {
			t.Errorf("at %d, %v:\n%s", kept, errs, diff)
		}
		if asked := s.times("export"); asked > 3+4*20 {
			t.Errorf("it asked %d times in four minutes", asked)
		}
	})
}

// Pauses grow while nothing comes, or nothing works, and begin anew behind what came.
func TestFollowExport_LooksAgainSoonBehindWhatCame(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]trouble{"behind a calm": {}, "behind trouble": {mishap: mishap{unsent: true}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := exported(1)
				began := time.Now()
				s.goes = func(string, int) trouble {
					if at := time.Since(began); at < 10*time.Minute || at > 12*time.Minute && at < 12*time.Minute+time.Second {
						return wrong
					}
					return trouble{}
				}
				for i, at := range []time.Duration{10 * time.Minute, 12*time.Minute + 500*time.Millisecond} {
					time.AfterFunc(at, func() { s.changed(fmt.Sprint("k", i+2), []byte{}) })
				}
				var last time.Duration
				for page, err := range holdfast.FollowExport(t.Context(), s.client(t, holdfast.WithAttempts(1)), "orders", holdfast.FollowOptions{LongestPause: time.Minute}) {
					if err == nil && len(page.Records) > 0 {
						last = time.Since(began)
					}
					if last > 12*time.Minute {
						break
					}
					if page.Next == 2 {
						time.Sleep(12*time.Minute - time.Since(began)) // it has much to do
					}
				}
				if last > 12*time.Minute+5*time.Second {
					t.Errorf("the last change was seen at %v", last)
				}
			})
		})
	}
}

func TestFollowExport_BeginsBehindWhatWasKeptAndEndsWhenCaughtUp(t *testing.T) {
	t.Parallel()
	s := exported(5)
	for after, want := range map[int64][]string{0: {"k1", "k2", "k3", "k4", "k5"}, 3: {"k4", "k5"}, 5: nil} {
		found, kept, errs := keys(t.Context(), t, s, holdfast.FollowOptions{After: after, UntilCaughtUp: true}, 0)
		if diff := cmp.Diff(want, found); diff != "" || kept != 5 || errs != nil {
			t.Errorf("from %d to %d, %v:\n%s", after, kept, errs, diff)
		}
	}
}

func TestFollowExport_GoesOnBehindAnErrorThatMayPass(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]trouble{
		"no answer":        {mishap: mishap{unsent: true}},
		"a body is away":   {mishap: mishap{refuse: "body_unavailable", status: 503, after: "60"}},
		"another body":     {spoil: func(w *httptest.ResponseRecorder) { replace(w, `"body":"`, `"body":"AAAA`) }},
		"a body left out":  {spoil: func(w *httptest.ResponseRecorder) { replace(w, `"body":`, `"nobody":`) }},
		"seen already":     {spoil: func(w *httptest.ResponseRecorder) { replace(w, `"export_sequence":4`, `"export_sequence":2`) }},
		"out of order":     {spoil: func(w *httptest.ResponseRecorder) { replace(w, `"export_sequence":3`, `"export_sequence":4`) }},
		"back to the past": {spoil: func(w *httptest.ResponseRecorder) { replace(w, `"next":4`, `"next":3`) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := exported(5)
				s.goes = func(op string, n int) trouble {
					if op == "export" && n >= 2 && n < 10 {
						return wrong
					}
					return trouble{}
				}
				found, kept, errs := keys(t.Context(), t, s, holdfast.FollowOptions{Bodies: true, UntilCaughtUp: true}, 0)
				if diff := cmp.Diff([]string{"k1", "k2", "k3", "k4", "k5"}, found); diff != "" || kept != 5 || len(errs) == 0 {
					t.Errorf("at %d, %v:\n%s", kept, errs, diff)
				}
			})
		})
	}
}

// replace changes an answer.
func replace(w *httptest.ResponseRecorder, was, is string) {
	text := w.Body.String()
	w.Body.Reset()
	w.Body.WriteString(strings.Replace(text, was, is, 1))
}

func TestFollowExport_ABodyThatIsMarkedIsNoError(t *testing.T) {
	t.Parallel()
	s := exported(1)
	s.changes[0].Body, s.changes[0].Unavailable = nil, ptr(true)
	found, _, errs := keys(t.Context(), t, s, holdfast.FollowOptions{Bodies: true, MarkUnavailable: true, UntilCaughtUp: true}, 0)
	if len(found) != 1 || errs != nil || !strings.Contains(s.seen[0].URL.RawQuery, "unavailable=mark") {
		t.Errorf("%v, %v", found, errs)
	}
}

func TestFollowExport_EndsWithAnErrorThatStays(t *testing.T) {
	t.Parallel()
	s := exported(3)
	s.goes = func(string, int) trouble { return trouble{mishap: mishap{refuse: "collection_not_found", status: 404}} }
	_, _, errs := keys(t.Context(), t, s, holdfast.FollowOptions{}, 0)
	if len(errs) != 1 || !holdfast.IsCode(errs[0], "collection_not_found") || s.times("export") != 1 {
		t.Errorf("%v after %d tries", errs, s.times("export"))
	}
}

func TestFollowExport_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]trouble{"at the end": {}, "in trouble": {mishap: mishap{unsent: true}}, "on the way": {mishap: mishap{way: time.Hour}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := exported(1)
				s.goes = func(string, int) trouble { return wrong }
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(10*time.Minute, cancel)
				_, _, errs := keys(ctx, t, s, holdfast.FollowOptions{}, 0)
				if n := len(errs); n == 0 || !errors.Is(errs[n-1], context.Canceled) {
					t.Errorf("it ended with %v", errs)
				}
			})
		})
	}
}
