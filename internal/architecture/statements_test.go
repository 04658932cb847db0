package architecture

import (
	"fmt"
	"go/constant"
	"go/types"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// statement is a SQL const of the source: one whose name begins with "sql".
type statement struct {
	place string // package/file:line
	name  string
	text  string
}

// statements reads every SQL const of the production code below internal/.
func statements(t *testing.T) (all []statement) {
	t.Helper()
	for _, p := range productionPackages(t) {
		for name, object := range p.check(true).Defs {
			c, ok := object.(*types.Const)
			if !ok || !strings.HasPrefix(name.Name, "sql") || c.Val().Kind() != constant.String {
				continue
			}
			place := p.files.Position(name.Pos())
			all = append(all, statement{fmt.Sprintf("%s:%d", place.Filename, place.Line), name.Name, constant.StringVal(c.Val())})
		}
	}
	return all
}

// ownersOwn are the statements of the schema's own commands, which the owner may
// run and nobody else.
var ownersOwn = map[string]bool{
	"sqlOpenNumbers": true, "sqlCloseNumbers": true, "sqlReopenNumbers": true,
	"sqlAddNumberGate": true, "sqlFollowTenantGates": true, "sqlBecomeCopy": true, "sqlCount": true, "sqlRemoveGates": true,
	"sqlLeaveEra": true, "sqlEnterRestore": true, "sqlGatedTenants": true, "sqlDropPurge": true,
	"sqlLastRestore": true, "sqlIncarnation": true, "sqlEndStaleRestores": true, "sqlBeginRestore": true, "sqlEndRestore": true, "sqlReconciled": true,
}

// TestEveryStatement_IsPreparedByARoleThatUsesIt finds a statement that no
// longer fits the schema, or that no serving role is allowed.
func TestEveryStatement_IsPreparedByARoleThatUsesIt(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	poolsOf := func(roles ...string) map[string]*pgxpool.Pool {
		pools := map[string]*pgxpool.Pool{}
		for _, role := range roles {
			router := in.Router(t, role)
			pools[role+" on control"] = router.Control()
			pools[role+" on data"] = router.Databases()[0].Pool
		}
		return pools
	}
	serving, owner := poolsOf(postgres.RoleAPI, postgres.RoleWorker), poolsOf(postgres.RoleOwner)
	all := statements(t)
	if len(all) < 40 {
		t.Fatalf("found only %d statements", len(all))
	}
	for _, s := range all {
		if strings.Contains(s.text, "%s") || strings.Contains(s.text, "%[1]s") || strings.Count(strings.TrimRight(s.text, "; \n"), ";") > 0 {
			continue // what makes roles and grants is run whole by every test of the schema
		}
		pools := serving
		if ownersOwn[s.name] {
			pools = owner
		}
		var refusals []string
		for where, pool := range pools {
			if err := prepares(t, pool, s.text); err != nil {
				refusals = append(refusals, where+": "+err.Error())
			}
		}
		if len(refusals) == len(pools) {
			t.Errorf("%s: %s is refused everywhere:\n  %s", s.place, s.name, strings.Join(refusals, "\n  "))
		}
	}
}

// prepares also plans the statement, with NULL for every argument, since some
// refusals come only then.
func prepares(t *testing.T, pool *pgxpool.Pool, sql string) error {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	described, err := conn.Conn().Prepare(t.Context(), "", sql)
	if err != nil {
		return err
	}
	if !planned(sql) {
		return nil
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN "+sql, make([]any, len(described.ParamOIDs))...)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

func planned(sql string) bool {
	verb, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	switch strings.ToUpper(strings.TrimSpace(verb)) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return true
	}
	return strings.HasPrefix(strings.TrimSpace(sql), "SELECT\n") || strings.HasPrefix(strings.TrimSpace(sql), "INSERT\n")
}
