package purge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// life is what a worker has with the databases and the object store: exchanges, one
// after the other. With one of them something happens to it.
type life struct {
	at   int  // the exchange with which it happens; 0 for never
	dies bool // it ends before that exchange; or else loses that one's answer, and ends then
	end  context.CancelFunc

	mu        sync.Mutex
	exchanges []string // how each began
}

func (l *life) meet(exchange string) testkit.Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exchanges = append(l.exchanges, exchange)
	switch n := len(l.exchanges); {
	case l.at == 0 || n < l.at:
		return testkit.Passes
	case n == l.at && !l.dies:
		return testkit.NeverAnswered
	}
	l.end()
	return testkit.NeverArrives
}

func (l *life) met() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.exchanges)
}

var errCut = errors.New("the connection is cut")

// mortals are workers whose exchanges meet what a life says.
type mortals struct {
	*scene
	living atomic.Pointer[life]
	router *postgres.Router
	store  *testkit.StoreFaults
}

func newMortals(t testing.TB) *mortals {
	t.Helper()
	m := &mortals{scene: newScene(t, 1), store: testkit.NewStoreFaults(t)}
	m.living.Store(&life{})
	network := m.in.Through(t)
	network.Decide(func(statement string) testkit.Fate {
		begin, _, _ := strings.Cut(strings.TrimSpace(statement), "\n")
		if begin == "-- ping" { // of a connection that has been idle
			return testkit.Passes
		}
		return m.living.Load().meet(begin)
	})
	m.router = network.Router(t, postgres.RoleWorker)
	m.store.AtRandom(0, 1, func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		switch m.living.Load().meet(r.Method + " an object") {
		case testkit.Passes:
			return pass()
		case testkit.NeverAnswered:
			if answer, err := pass(); err == nil {
				answer.Body.Close()
			}
		}
		return nil, errCut
	})
	return m
}

// live purges the tenant as a worker with such a life, and is over its waits at once.
func (m *mortals) live(t *testing.T, l *life, tenant domain.TenantID) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	l.end = end
	m.living.Store(l)
	defer m.living.Store(&life{})
	w := m.service(m.router, testkit.OpenBodies(t, m.store.Through(testkit.BodyStore(t))))
	for ctx.Err() == nil && m.progress(t, tenant).Step != stepDone {
		more, err := w.Step(ctx, tenant)
		if err == nil && !more {
			m.clock.advance(DefaultSettle)
		}
	}
}

// Something happens to the worker at the exchanges of a purge: it dies before the
// exchange, or the exchange is done and its answer is lost. Its heir brings the purge
// to its end, and the tombstone tells of each row, object and job once.
func TestPurge_KilledAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	m := newMortals(t)
	whole := &life{}
	tenant := m.doomed(t)
	had := m.rowsOf(t, tenant)
	m.live(t, whole, tenant)
	m.expectGone(t, tenant, had, 3, 2)
	exchanges := whole.met()
	happened, places, heir := 0, happenings(exchanges), m.worker(t)
	if len(places) < 30 {
		t.Fatalf("only %d places", len(places))
	}
	for i, at := range places {
		l := &life{at: at, dies: i%2 == 0}
		t.Run(fmt.Sprintf("%d %s", at, exchanges[at-1]), func(t *testing.T) {
			tenant := m.doomed(t)
			had := m.rowsOf(t, tenant)
			m.live(t, l, tenant)
			if len(l.met()) >= at {
				happened++
			}
			m.finish(t, heir, tenant)
			m.expectGone(t, tenant, had, 3, 2)
		})
	}
	// Connections come and go, and a statement that a new one doesn't know is described
	// first: not every life has as many exchanges.
	if happened < len(places)*9/10 {
		t.Errorf("of %d places only %d were come to", len(places), happened)
	}
}

// happenings are exchanges at which something can be left that no other leaves: each
// commit of the control database, what goes to the object store, and each first pass
// over rows. A death within a transaction leaves what one before it does; with
// HOLDFAST_TEST_CRASHES=all it happens there too.
func happenings(exchanges []string) (all []int) {
	everywhere := os.Getenv("HOLDFAST_TEST_CRASHES") == "all"
	last := ""
	for n, exchange := range exchanges {
		pass := exchange == "begin" && last != "begin"
		if everywhere || pass || exchange == "commit" || strings.HasSuffix(exchange, "an object") {
			all = append(all, n+1)
		}
		last = exchange
	}
	return all
}
