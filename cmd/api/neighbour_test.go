package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// pinned is a limited tenant with an account that somebody keeps locked in the
// database, so that whoever changes it waits there.
type pinned struct {
	*limited
	database *pgxpool.Pool
	account  string
	lock     pgx.Tx
}

func newPinned(t testing.TB, limits holdfast.SetLimits) *pinned {
	t.Helper()
	s := newStack(t, 1)
	p := &pinned{database: s.installation.Admin(t, "data1")}
	// So that a wait ends when the test says so.
	for _, setting := range []string{"lock_timeout", "statement_timeout"} {
		if _, err := p.database.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER ROLE holdfast_api IN DATABASE %I SET `+setting+` = ''60s''', current_database()); END $$`); err != nil {
			t.Fatal(err)
		}
	}
	p.limited = s.newLimited(t, s.serve(t), "acme", limits)
	var made holdfast.CreatedAccount
	p.send(t, "POST", "/v1/accounts", `{"handle":"ada"}`).into(t, &made)
	p.account = made.ID
	var err error
	if p.lock, err = p.database.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.lock.Rollback(context.Background()) })
	if _, err := p.lock.Exec(t.Context(), `SELECT FROM accounts WHERE account_id = $1 FOR UPDATE`, p.account); err != nil {
		t.Fatal(err)
	}
	return p
}

// change sends a request that waits for the lock.
func (p *pinned) change(t testing.TB) <-chan reply {
	answered := make(chan reply, 1)
	go func() {
		answered <- p.send(t, "PATCH", "/v1/accounts/"+p.account, `{"display_name":"Ada"}`, `If-Match: "1"`)
	}()
	return answered
}

// untilWaiting returns when so many of the API's connections wait for locks.
func (p *pinned) untilWaiting(t testing.TB, connections int) {
	t.Helper()
	eventually(t, fmt.Sprint(connections, " connections wait for the lock"), func() bool {
		var waiting int
		err := p.database.QueryRow(t.Context(),
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'holdfast_api' AND wait_event_type = 'Lock'`).Scan(&waiting)
		return err == nil && waiting >= connections
	})
}

// waits is how often somebody found no connection free to take.
func (p *pinned) waits(t testing.TB) string {
	t.Helper()
	_, metrics := fetch(t, "http://"+p.api.privateAddress(t)+"/metrics")
	_, text, found := strings.Cut(metrics, `holdfast_db_pool_waits_total{db_client_connection_pool_name="data1"} `)
	if !found {
		t.Fatal("nothing tells of waits")
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}

func (p *pinned) release(t testing.TB) {
	t.Helper()
	if err := p.lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A tenant whose requests all wait in the database has most of its connections, and
// never all of them.
func TestNeighbour_OfATenantWhoseRequestsWaitForLocks_FindsAConnection(t *testing.T) {
	t.Parallel()
	p := newPinned(t, holdfast.SetLimits{})
	quiet := p.stack.newLimited(t, p.api, "quiet", holdfast.SetLimits{})
	before := p.waits(t)
	var held []<-chan reply
	for i := range 64 {
		held = append(held, p.change(t))
		if i < 3 { // of the pool's four connections, one after the other: what comes at once shares one
			p.untilWaiting(t, i+1)
		}
	}
	eventually(t, "those behind them wait for a connection", func() bool { return p.waits(t) != before })
	for i := range 8 {
		made := promptly(t, func() reply { return quiet.send(t, "POST", "/v1/accounts", fmt.Sprintf(`{"handle":"user-%d"}`, i)) })
		if made.status != http.StatusCreated {
			t.Errorf("a neighbour's request: %d %s %v", made.status, made.body, made.cut)
		}
		read := promptly(t, func() reply { return quiet.send(t, "GET", "/v1/accounts?limit=1", "") })
		if read.status != http.StatusOK {
			t.Errorf("a neighbour's read: %d %s %v", read.status, read.body, read.cut)
		}
	}
	for _, answered := range held {
		select {
		case r := <-answered:
			t.Fatalf("what waited was answered meanwhile: %d %s", r.status, r.body)
		default:
		}
	}
	p.release(t)
	for _, answered := range held {
		<-answered
	}
}

// promptly gives the answer to a request that must not wait for what the test holds.
func promptly(t testing.TB, send func() reply) reply {
	t.Helper()
	answered := make(chan reply, 1)
	go func() { answered <- send() }()
	select {
	case r := <-answered:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("a neighbour waits for what another tenant holds")
		return reply{}
	}
}

// A tenant that floods gets what its limits let through, and its neighbour everything.
func TestNeighbour_OfATenantThatFloods_IsServedEveryTime(t *testing.T) {
	t.Parallel()
	const rate, turns, callers, asked = 20, 2, 64, 25
	s := newStack(t, 1)
	r := s.serve(t)
	flood := s.newLimited(t, r, "flood", holdfast.SetLimits{RequestsPerSecond: ptr(int64(rate)), ConcurrentRequests: ptr(int64(turns))})
	quiet := s.newLimited(t, r, "quiet", holdfast.SetLimits{})
	began := time.Now()
	var served, refused, failed atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for n := 0; !stop.Load(); n++ {
				switch r := flood.send(t, "POST", "/v1/accounts", fmt.Sprintf(`{"handle":"flood-%d-%d"}`, i, n)); {
				case r.status == http.StatusCreated:
					served.Add(1)
				case r.status != http.StatusTooManyRequests:
					failed.Add(1)
				default:
					refused.Add(1)
					if i%2 == 0 { // the others come again at once
						select {
						case <-time.After(time.Second):
						case <-t.Context().Done():
						}
					}
				}
			}
		})
	}
	eventually(t, "the flood is refused", func() bool { return refused.Load() > callers })
	for i := range asked {
		before, sent := served.Load(), time.Now()
		got := quiet.send(t, "POST", "/v1/accounts", fmt.Sprintf(`{"handle":"user-%d"}`, i))
		if got.status != http.StatusCreated {
			t.Errorf("a neighbour's request: %d %s %v", got.status, got.body, got.cut)
		}
		if first := served.Load() - before; first > rateWithin(rate, time.Since(sent)) {
			t.Errorf("%d of the flood's were served before one of its neighbour's", first)
		}
	}
	stop.Store(true)
	all.Wait()
	if n, most := served.Load(), rateWithin(rate, time.Since(began)); n > most || n == 0 || failed.Load() > 0 {
		t.Errorf("of the flood %d were served, want %d at most, and %d failed", n, most, failed.Load())
	}
	if got := quiet.send(t, "GET", "/v1/accounts?limit=1", "").header.Get("RateLimit"); got != `"requests";r=1999;t=1` && got != `"requests";r=1998;t=1` {
		t.Errorf("the neighbour's rate has %s", got)
	}
}

// rateWithin is how many a rate lets through within a time, with a full bucket first.
func rateWithin(rate int, d time.Duration) int64 {
	return int64(rate) + int64(float64(rate)*d.Seconds()) + 1
}
