package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestSchemaFloor_ABuildThatMayTakeOver_IsNotBelowIt(t *testing.T) {
	t.Parallel()
	want := result{exitOK, "The build " + telemetry.Build() + " is not below the floor.\n", ""}
	for name, environ := range map[string][]string{
		"before the first migration": testkit.EmptyDatabases(t, 2).Environ(),
		"on its own schema":          testkit.Databases(t, 2).Environ(),
	} {
		if diff := cmp.Diff(want, execute(t, environ, "schema", "floor"), cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSchemaFloor_SaysAllThatABuildBelowItLacks(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	for database, statements := range map[string][]string{
		"control": {`INSERT INTO goose_control (version_id, is_applied) VALUES (800, true)`},
		"data1":   {`UPDATE number_gates SET lease_rules = 2 WHERE number = 7`},
		"data2": {`INSERT INTO goose_data (version_id, is_applied) VALUES (900, true)`, `DELETE FROM goose_data WHERE version_id = 1`,
			`UPDATE number_gates SET record_format = 3 WHERE number = 40`},
	} {
		for _, sql := range statements {
			if _, err := installation.Admin(t, database).Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{
		"The build " + telemetry.Build() + " is below the rollback floor:",
		"control: the schema is newer than this build (it has versions [800]): run the build that made it, or a later one",
		"data1: demands lease rules 2, and this build knows 1",
		"data2: the schema is newer than this build (it has versions [900]): run the build that made it, or a later one",
		"data2: demands record format 3, and this build knows 2",
		"",
	}
	got := execute(t, installation.Environ(), "schema", "floor")
	if diff := cmp.Diff(want, strings.Split(got.stdout, "\n")); got.code != exitDiffers || diff != "" {
		t.Errorf("code %d, %s; want %d (-want +got):\n%s", got.code, got.stderr, exitDiffers, diff)
	}
	if got := execute(t, installation.Environ(), "schema", "floor", "--json"); got.code != exitDiffers || !strings.Contains(got.stdout, `"lacks":["control: `) {
		t.Errorf("as JSON: %+v", got)
	}
}
