package postgres_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestPooler_IsKnownFromTheServer(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	pooled := in.Pooled(t, 1)
	unsaid := pooled.Settings(postgres.RoleWorker)
	unsaid.Pooler = false
	mixed := in.Settings(postgres.RoleWorker) // control is direct, and one of two data databases
	mixed.Data[1] = unsaid.Data[1]
	open := func(s postgres.Settings) *postgres.Router {
		router, err := postgres.Open(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(router.Close)
		return router
	}
	for name, c := range map[string]struct {
		router         *postgres.Router
		serves, direct string // how the refusals begin; "" without any
	}{
		"direct":              {in.Router(t, postgres.RoleWorker), "", ""},
		"pooled":              {pooled.Router(t, postgres.RoleWorker), "", "control database: a pooler stands before it"},
		"pooled, and unsaid":  {open(unsaid), "control database: a pooler stands before it", "control database: a pooler stands before it"},
		"one of them, unsaid": {open(mixed), "data database data2: a pooler stands before it", "data database data2: a pooler stands before it"},
	} {
		for check, got := range map[string][2]any{
			"to serve":      {postgres.CheckPooler(t.Context(), c.router), c.serves},
			"for a session": {postgres.CheckDirect(t.Context(), c.router), c.direct},
		} {
			err, _ := got[0].(error)
			want := got[1].(string)
			if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s, %s: %v, want %q", name, check, err, want)
			}
		}
	}
}
