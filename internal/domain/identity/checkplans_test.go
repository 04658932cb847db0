package identity

import (
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestCheckPlans_ReadAPageInItsOrder holds the statements of a check to reading
// no more than their page: each walks an index from its place on, in the index's
// order, and asks for what is beside by keys.
func TestCheckPlans_ReadAPageInItsOrder(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	pages := map[string]struct {
		place  string   // behind which the index is entered
		beside []string // the last column of each key by which others are asked
	}{
		sqlCheckAccounts:   {"number, account_id", []string{"account_id", "record_id"}},
		sqlCheckDevices:    {"number, device_id", []string{"record_id"}},
		sqlCheckClaims:     {"number, family, key", nil},
		sqlCheckOperations: {"number, family, record_id", []string{"account_id", "device_id"}},
		sqlCheckChanges:    {"number, account_id", []string{"account_id"}},
		sqlCheckLinks:      {"number, account_id, device_id", []string{"account_id"}},
		sqlCheckEvents:     {"number, sequence", []string{"account_id", "device_id", "record_id"}},
	}
	keyed := map[string]string{
		sqlCheckLinked: "device_id",
		sqlCheckGap:    "number",
		sqlCheckEnds:   "number",
		sqlCheckStrays: "tenant_id",
	}
	check := func(when string) {
		for sql, page := range pages {
			plan := testkit.GenericPlan(t, d.router.Databases()[0].Pool, sql)
			entered := regexp.MustCompile(`Index Cond: .*ROW\(` + page.place + `\) > ROW\(`).MatchString(plan)
			if !entered || strings.Contains(plan, "Sort") {
				t.Errorf("%s:%s\nis planned as\n%s\nwant an index entered behind (%s), and no sort", when, sql, plan, page.place)
			}
			for _, column := range page.beside {
				if !testkit.OnIndex(plan, column) {
					t.Errorf("%s:%s\nis planned as\n%s\nwant an index searched by %s", when, sql, plan, column)
				}
			}
		}
		for sql, column := range keyed {
			if plan := testkit.GenericPlan(t, d.router.Databases()[0].Pool, sql); !testkit.OnIndex(plan, column) {
				t.Errorf("%s:%s\nis planned as\n%s\nwant an index searched by %s", when, sql, plan, column)
			}
		}
	}
	check("on empty tables")
	race(d, 60, func(i int) (string, string) { return numbered("a-%d", i), numbered("a-%d@example.com", i) })
	check("with some rows")
	d.everywhere(t, `ANALYZE`)
	check("with some rows, analyzed")
}
