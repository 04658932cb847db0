package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// staying are the tables of a data database whose rows don't go with a number. Who
// adds one here has thought about what becomes of it when numbers move.
var staying = []string{
	"lease_sweeps", "number_gates", "object_sweeps", "record_sweeps", // places of sweeps, and the gates themselves
	"restores", // what happened to this database
	"sweeps",
	"tenant_gates", // copied to every database
}

func TestEveryTable_MovesWithItsNumberOrIsKnownToStay(t *testing.T) {
	t.Parallel()
	admin := testkit.Databases(t, 1).Admin(t, "data1")
	for sql, want := range map[string][]string{
		// Without the number in its key, a change couldn't be told from another number's.
		`SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
		    AND c.relname NOT LIKE 'goose%' AND c.oid NOT IN (SELECT moving_tables()) ORDER BY c.relname COLLATE "C"`: staying,
		// What has no policy for it, the owner doesn't see: it would be neither copied nor compared.
		`SELECT t::text FROM moving_tables() t WHERE NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = t AND p.polname = 'mover')`: nil,
		// A sequence would stay behind.
		`SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S' AND c.relname NOT LIKE 'goose%'`: nil,
		// Nor does replication run triggers, or compare anything but primary keys.
		`SELECT tgname::text FROM pg_trigger WHERE tgrelid IN (SELECT moving_tables())`:                    nil,
		`SELECT relname::text FROM pg_class WHERE oid IN (SELECT moving_tables()) AND relreplident <> 'd'`: nil,
	} {
		rows, _ := admin.Query(t.Context(), sql)
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, append([]string(nil), got...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}
