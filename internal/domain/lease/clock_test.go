package lease

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// newClocked is a coordinator whose databases' clocks the test sets. The journal's
// times follow them, so it replays as ever.
func newClocked(t testing.TB) *coordinator {
	t.Helper()
	c := newCoordinator(t)
	testkit.OwnClocks(t, c.router, c.admin)
	return c
}

// advance sets the clock of each database on, or back.
func (c *coordinator) advance(t testing.TB, by time.Duration) {
	t.Helper()
	c.everywhere(t, testkit.AdvanceClock, by)
}

// now is the time by the databases' clock.
func (c *coordinator) now(t testing.TB) (now time.Time) {
	t.Helper()
	pool := c.admin[c.router.Databases()[0].Name]
	if err := pool.QueryRow(t.Context(), `SELECT clocked.clock_timestamp()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// hold acquires a lease of the default term and activates it.
func (c *coordinator) hold(t testing.TB, world string) Authority {
	t.Helper()
	grant := c.acquire(t, world, Acquire{RequestID: rand.Text()})
	c.activate(t, grant)
	return Authority{grant.Epoch, grant.Secret}
}

func (c *coordinator) acquire(t testing.TB, world string, req Acquire) Grant {
	t.Helper()
	grant, err := c.Acquire(t.Context(), c.scope, world, req)
	if err != nil {
		t.Fatalf("acquire %s: %v", world, err)
	}
	return grant
}
