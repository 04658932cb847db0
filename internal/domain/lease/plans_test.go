package lease

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestPlans_AreOnTheirKeys holds the statements that serve to their indexes: on
// empty tables, and with rows that nobody has analyzed.
func TestPlans_AreOnTheirKeys(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	statements := map[string]string{ // and the last column that an index must be searched by
		sqlLockHeads:        "world_id",
		sqlQueueForHeads:    "world_id",
		sqlWhichExist:       "world_id",
		sqlReadHead:         "world_id",
		sqlDemandHeads:      "world_id",
		sqlKnownEntries:     "entry_id",
		sqlReadEntries:      "position",
		sqlMadeWriter:       "epoch",
		sqlReadRejections:   "world_id",
		sqlForgetRejections: "world_id",
		sqlReadLines:        "world_id",
		sqlRemoveWaiter:     "request_id",
		sqlListWorlds:       "tenant_id",
		sqlReadHeat:         "world_id",
		sqlTakeHeat:         "world_id",
		sqlJudgeHeat:        "world_id",
		sqlSpillAdvised:     "world_id",
		sqlSignedEnds:       "world_id",
		sqlReadEnds:         "world_id",
		sqlCheckEntryIDs:    "entry_id",
		sqlCheckEpochs:      "epoch",
		sqlCheckHead:        "world_id",
		sqlCheckCheckpoints: "world_id",
	}
	check := func(when string) {
		for sql, column := range statements {
			if plan := testkit.GenericPlan(t, c.router.Databases()[0].Pool, sql); !testkit.OnIndex(plan, column) {
				t.Errorf("%s:%s\nis planned as\n%s\nwant an index searched by %s", when, sql, plan, column)
			}
		}
		for _, sql := range []string{sqlKnownEntries, sqlMadeWriter} { // which go on to an entry
			if plan := testkit.GenericPlan(t, c.router.Databases()[0].Pool, sql); !testkit.OnIndex(plan, "position") {
				t.Errorf("%s: %s\nis planned as\n%s", when, sql, plan)
			}
		}
	}
	check("on empty tables")
	for i := range 30 {
		world := c.world(t, fmt.Sprint("world-", i))
		lease := c.take(t, world)
		for k := range 5 {
			c.write(t, world, &lease, fmt.Sprint("id-", k), "x")
			if _, err := c.tryWrite(t, world, nil, "", "y"); err == nil {
				t.Error("written without the lease")
			}
		}
	}
	check("with some rows")
	c.everywhere(t, `ANALYZE`)
	check("with some rows, analyzed")
}

// The functions by which the worker looks into all tenants are on the indexes that
// are made for them.
func TestPlans_TheSweepsScansAreOnTheirIndexes(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	for i := range 50 {
		world := c.world(t, fmt.Sprint("world-", i))
		c.take(t, world)
		if _, err := c.tryWrite(t, world, nil, "", "y"); err == nil {
			t.Error("written without the lease")
		}
	}
	admin := c.admin[c.router.Databases()[0].Name]
	scans := map[string][]string{
		"sweep_worlds_due":     {"worlds_held", "append_rejections_due", "lease_waiters_by_number"},
		"sweep_worlds_grown":   {"worlds_by_number"},
		"sweep_worlds_heated":  {"world_heat_by_number"},
		"sweep_numbers_due":    nil, // these two ask the functions above
		"sweep_numbers_heated": nil,
	}
	rows, _ := admin.Query(t.Context(), `
SELECT proname::text FROM pg_proc WHERE proowner = 'holdfast_scanner'::regrole AND prosecdef
   AND (proname LIKE 'sweep\_worlds\_%' OR proname LIKE 'sweep\_numbers\_%')`)
	named, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range named {
		if _, held := scans[function]; !held {
			t.Errorf("%s is held to no index", function)
		}
	}
	for function, indexes := range scans {
		plan := testkit.FunctionPlan(t, admin, function)
		for _, index := range indexes {
			if !strings.Contains(plan, index+" ") {
				t.Errorf("%s is planned as\n%s\nwant it on %s", function, plan, index)
			}
		}
	}
}
