package migration

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// life is what a process has with the databases and the object store: exchanges,
// one after the other. With one of them something happens to it.
type life struct {
	at   int  // the exchange with which it happens; 0 for never
	dies bool // it ends before that exchange; or else loses that one's answer, and goes on
	end  context.CancelFunc

	mu        sync.Mutex
	exchanges []string // how each began
}

// meet gives an exchange its fate.
func (l *life) meet(exchange string) testkit.Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exchanges = append(l.exchanges, exchange)
	switch n := len(l.exchanges); {
	case l.at == 0 || n < l.at:
		return testkit.Passes
	case l.dies:
		l.end()
		return testkit.NeverArrives
	case n == l.at:
		return testkit.NeverAnswered
	}
	return testkit.Passes
}

func (l *life) met() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.exchanges)
}

var errCut = errors.New("the connection is cut")

// mortals are processes whose exchanges meet what a life says. They share their
// connections, one life after the other.
type mortals struct {
	*moving
	living      atomic.Pointer[life]
	api, worker *postgres.Router
	store       *testkit.StoreFaults
	bucket      objectstore.Settings
}

func newMortals(t testing.TB, m *moving) *mortals {
	t.Helper()
	network := m.in.Through(t)
	all := &mortals{moving: m, store: testkit.NewStoreFaults(t), bucket: testkit.BodyStore(t)}
	all.living.Store(&life{})
	network.Decide(func(statement string) testkit.Fate {
		begin, _, _ := strings.Cut(strings.TrimSpace(statement), "\n")
		if begin == "-- ping" { // of a connection that has been idle
			return testkit.Passes
		}
		return all.living.Load().meet(begin)
	})
	all.api, all.worker = repeatable(t, network.Settings(postgres.RoleAPI)), repeatable(t, network.Settings(postgres.RoleWorker))
	all.store.AtRandom(0, 1, all.request)
	return all
}

// repeatable connects so that each life has the same exchanges: whatever was
// prepared on a connection before, a statement is described, and then run.
func repeatable(t testing.TB, s postgres.Settings) *postgres.Router {
	t.Helper()
	for _, at := range append(pointers(s.Data), &s.Control) {
		u, err := url.Parse(*at)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set("default_query_exec_mode", "describe_exec")
		u.RawQuery = query.Encode()
		*at = u.String()
	}
	router, err := postgres.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	return router
}

func pointers(locations []postgres.Location) (urls []*string) {
	for i := range locations {
		urls = append(urls, &locations[i].URL)
	}
	return urls
}

// request is meet for a request to the object store.
func (all *mortals) request(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
	switch all.living.Load().meet(r.Method + " a body") {
	case testkit.Passes:
		return pass()
	case testkit.NeverAnswered:
		if answer, err := pass(); err == nil {
			answer.Body.Close()
		}
	}
	return nil, errCut
}

// spawn is a process that lives such a life, an API and a worker in one. Its
// context ends with it.
func (all *mortals) spawn(t testing.TB, l *life) (api, worker *Service, ctx context.Context) {
	t.Helper()
	ctx, l.end = context.WithCancel(t.Context())
	t.Cleanup(l.end)
	all.living.Store(l)
	process := func(router *postgres.Router) *Service {
		bucket := testkit.OpenBodies(t, all.store.Through(all.bucket))
		records := record.New(router, lease.New(router, testSecrets("server"), lease.Options{}), bucket, record.Options{})
		store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
		return New(router, store, records, Options{Build: "build-1", IDKey: []byte("ids")})
	}
	return process(all.api), process(all.worker), ctx
}

// awaitSilence returns when no database does anything any more for who has died.
func (m *moving) awaitSilence(t testing.TB) {
	t.Helper()
	for name, admin := range m.admin {
		m.await(t, func() bool {
			var working int
			err := admin.QueryRow(t.Context(), `
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename IN ('holdfast_api', 'holdfast_worker') AND state <> 'idle'`).Scan(&working)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return err != nil || working == 0
		})
	}
}
