package main

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A session's lock that a pooler gives to the next client, and to nobody when this
// process dies, would be no lock.
func TestSchemaUp_GoesThroughNoPooler(t *testing.T) {
	t.Parallel()
	in := testkit.EmptyDatabases(t, 1)
	settings := in.Pooled(t, 4).Settings(postgres.RoleOwner)
	got := execute(t, append(in.Environ(), "HOLDFAST_DATA_URLS=data1="+settings.Data[0].URL), "schema", "up")
	if got.code != exitFailed || !strings.Contains(got.stderr, "data database data1: a pooler stands before it, and the schema needs direct connections") {
		t.Errorf("up: %+v", got)
	}
	var begun bool
	err := in.Admin(t, "control").QueryRow(t.Context(), `SELECT to_regclass('goose_control') IS NOT NULL`).Scan(&begun)
	if err != nil || begun {
		t.Errorf("the control database, which is direct, has a schema: %t (%v)", begun, err)
	}
}
