package lease

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// sqlClock puts a clock of the test's own in front of the server's. Whoever
// connects to the database from then on reads this one.
const sqlClock = `
CREATE SCHEMA clocked;
CREATE TABLE clocked.ahead (by interval NOT NULL);
INSERT INTO clocked.ahead VALUES ('0');
CREATE FUNCTION clocked.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    RETURN pg_catalog.clock_timestamp() + (SELECT by FROM clocked.ahead);
GRANT USAGE ON SCHEMA clocked TO PUBLIC;
GRANT SELECT ON clocked.ahead TO PUBLIC;
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = clocked, pg_catalog, public', current_database());
END $$`

// newClocked is a coordinator whose databases' clocks the test sets. The journal's
// times follow them, so it replays as ever.
func newClocked(t testing.TB) *coordinator {
	t.Helper()
	c := newCoordinator(t)
	for _, db := range c.router.Databases() {
		if _, err := c.admin[db.Name].Exec(t.Context(), sqlClock, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		db.Pool.Reset()
	}
	return c
}

// advance sets the clock of each database on, or back.
func (c *coordinator) advance(t testing.TB, by time.Duration) {
	t.Helper()
	c.everywhere(t, `UPDATE clocked.ahead SET by = by + $1`, by)
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
