package record

import (
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

// newClocked is a keeper whose databases' clocks the test sets.
func newClocked(t testing.TB, format int16) *keeper {
	t.Helper()
	k := newKeeper(t, format)
	for _, db := range k.router.Databases() {
		if _, err := k.admin[db.Name].Exec(t.Context(), sqlClock, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		db.Pool.Reset()
	}
	return k
}

// advance sets the clock of each database on, or back.
func (k *keeper) advance(t testing.TB, by time.Duration) {
	t.Helper()
	k.everywhere(t, `UPDATE clocked.ahead SET by = by + $1`, by)
}
