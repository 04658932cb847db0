package testkit_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestDatabases_AreMigratedAndHoldEveryNumberOnce(t *testing.T) {
	t.Parallel()
	router := testkit.Databases(t, 3).Router(t, postgres.RoleAPI)
	if err := postgres.CheckSchema(t.Context(), router); err != nil {
		t.Error(err)
	}
	if err := riverschema.Check(t.Context(), router.Control()); err != nil {
		t.Error(err)
	}
	for _, db := range router.Databases() {
		gates, err := postgres.ReadGates(t.Context(), db.Pool)
		if err != nil {
			t.Fatal(err)
		}
		if len(gates) != len(db.Numbers) {
			t.Fatalf("%s has %d gates, want %d", db.Name, len(gates), len(db.Numbers))
		}
		for i, gate := range gates {
			if gate.Number != db.Numbers[i] || gate.State != "open" {
				t.Errorf("%s: gate %v, want number %d open", db.Name, gate, db.Numbers[i])
			}
		}
	}
}

func TestDatabases_AreTheTestsOwn(t *testing.T) {
	t.Parallel()
	one, other := testkit.Databases(t, 1), testkit.Databases(t, 1)
	if _, err := one.Admin(t, "data1").Exec(t.Context(), `UPDATE number_gates SET state = 'closed' WHERE number = 7`); err != nil {
		t.Fatal(err)
	}
	var closed int
	err := other.Admin(t, "data1").QueryRow(t.Context(), `SELECT count(*) FROM number_gates WHERE state = 'closed'`).Scan(&closed)
	if err != nil || closed != 0 {
		t.Errorf("%d numbers are closed in the other test's database, %v; want none", closed, err)
	}
}

func TestDatabases_AreGoneAfterTheTest(t *testing.T) {
	t.Parallel()
	admin := testkit.Databases(t, 1).Admin(t, "control")
	var database string
	t.Run("a test", func(t *testing.T) {
		pool := testkit.Databases(t, 1).Admin(t, "control")
		if err := pool.QueryRow(t.Context(), `SELECT current_database()`).Scan(&database); err != nil {
			t.Fatal(err)
		}
	})
	var found bool
	err := admin.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, database).Scan(&found)
	if err != nil || found {
		t.Errorf("database %s is still there (%v, %v)", database, found, err)
	}
}
