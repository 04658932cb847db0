package lease

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// never is a poll that doesn't come within a test.
const never = time.Hour

// polling is another process, which looks at followed journals that often.
func (c *coordinator) polling(t testing.TB, every time.Duration) *coordinator {
	t.Helper()
	other := *c
	other.router = c.in.Router(t, postgres.RoleAPI)
	other.Service = New(other.router, testSecrets("server"), Options{PollEvery: every})
	return &other
}

// listening has the process hear notifications, until the test ends.
func (c *coordinator) listening(t testing.TB) *coordinator {
	t.Helper()
	before := c.listeners(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("listening ended with %v", err)
		}
	})
	c.awaitListeners(t, before+len(c.router.Databases()))
	return c
}

const sqlListeners = `
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name LIKE '% listener' AND state = 'idle' AND query LIKE 'LISTEN%'`

func (c *coordinator) listeners(t testing.TB) (all int) {
	t.Helper()
	for _, db := range c.admin {
		var some int
		if err := db.QueryRow(t.Context(), sqlListeners).Scan(&some); err != nil {
			t.Fatal(err)
		}
		all += some
	}
	return all
}

func (c *coordinator) awaitListeners(t testing.TB, want int) {
	t.Helper()
	until := time.Now().Add(10 * time.Second)
	for c.listeners(t) != want {
		if time.Now().After(until) {
			t.Fatalf("there are %d listeners, not %d", c.listeners(t), want)
		}
		time.Sleep(time.Millisecond)
	}
}

// deafen ends all listeners' connections.
func deafen(ctx context.Context, databases map[string]*pgxpool.Pool) error {
	for _, db := range databases {
		_, err := db.Exec(ctx, `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% listener'`)
		if err != nil {
			return err
		}
	}
	return nil
}

// reader follows a world until the test ends, and keeps what it gets.
type reader struct {
	mu      sync.Mutex
	entries []journal.Entry
	err     error // that ended it
	changed chan struct{}
}

func (c *coordinator) reader(t testing.TB, world string, after int64) *reader {
	t.Helper()
	f, err := c.Follow(t.Context(), c.scope, world, after)
	if err != nil {
		t.Fatalf("follow %s: %v", world, err)
	}
	r := &reader{changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer f.Close()
		r.follow(ctx, f)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return r
}

func (r *reader) follow(ctx context.Context, f *Following) {
	for {
		entries, err := f.Next(ctx, time.Minute)
		r.mu.Lock()
		r.entries, r.err = append(r.entries, entries...), err
		r.mu.Unlock()
		select {
		case r.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (r *reader) now() ([]journal.Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries, r.err
}

// await waits until what it got is enough.
func (r *reader) await(t testing.TB, what string, enough func([]journal.Entry, error) bool) {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		entries, err := r.now()
		if enough(entries, err) {
			return
		}
		select {
		case <-r.changed:
		case <-timeout:
			t.Fatalf("%s: the reader has %d entries and ended with %v", what, len(entries), err)
		}
	}
}

// upTo waits until the reader has a position, and gives all that it has.
func (r *reader) upTo(t testing.TB, position int64) []journal.Entry {
	t.Helper()
	r.await(t, "the last entry", func(entries []journal.Entry, err error) bool {
		return len(entries) > 0 && entries[len(entries)-1].Position >= position || err != nil
	})
	entries, err := r.now()
	if err != nil {
		t.Fatalf("the reader ended: %v", err)
	}
	return entries
}

// ended waits until an error ends the reader.
func (r *reader) ended(t testing.TB) error {
	t.Helper()
	r.await(t, "the end", func(_ []journal.Entry, err error) bool { return err != nil })
	_, err := r.now()
	if errors.Is(err, context.Canceled) {
		t.Fatal("nothing ended the reader")
	}
	return err
}

// expectFollowed holds what a reader gets to the journal behind a position.
func (c *coordinator) expectFollowed(t testing.TB, world string, after int64, r *reader) {
	t.Helper()
	_, all := c.replay(t, world)
	got := r.upTo(t, int64(len(all)))
	if diff := cmp.Diff(all[after:], got); diff != "" {
		t.Errorf("%s: the journal and what its reader got (-want +got):\n%s", world, diff)
	}
}
