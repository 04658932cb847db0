package testkit

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/postgres"
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

// AdvanceClock sets a database's clock on, or back, by an interval: as the
// superuser, behind OwnClocks.
const AdvanceClock = `UPDATE clocked.ahead SET by = by + $1`

// OwnClocks has the test set the clocks of its data databases, by AdvanceClock.
// The superusers' pools are by the databases' names.
func OwnClocks(t testing.TB, router *postgres.Router, superusers map[string]*pgxpool.Pool) {
	t.Helper()
	for _, db := range router.Databases() {
		if _, err := superusers[db.Name].Exec(t.Context(), sqlClock, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		db.Pool.Reset()
	}
}
