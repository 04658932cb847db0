package postgres_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// exec changes a database as the superuser.
func exec(t *testing.T, installation *testkit.Installation, database, sql string) {
	t.Helper()
	if _, err := installation.Admin(t, database).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// waitUntil asks the control database, as the superuser, until the condition
// holds.
func waitUntil(t *testing.T, installation *testkit.Installation, sql string, args ...any) {
	t.Helper()
	waitUntilOn(t, installation, "control", sql, args...)
}

// waitUntilOn likewise asks any database.
func waitUntilOn(t *testing.T, installation *testkit.Installation, database, sql string, args ...any) {
	t.Helper()
	admin := installation.Admin(t, database)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		var holds bool
		if err := admin.QueryRow(t.Context(), sql, args...).Scan(&holds); err != nil {
			t.Fatal(err)
		}
		if holds {
			return
		}
	}
	t.Fatalf("never came true: %s", sql)
}
