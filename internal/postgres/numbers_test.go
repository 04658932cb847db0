package postgres_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestOpenNumbers_FinishesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 3)
	router := installation.Router(t, postgres.RoleOwner)
	want := map[string][]domain.Number{}
	for _, db := range router.Databases()[1:] {
		exec(t, installation, db.Name, `DELETE FROM number_gates`)
		want[db.Name] = db.Numbers
	}
	opened, err := postgres.OpenNumbers(t.Context(), router)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, opened); diff != "" {
		t.Errorf("opened numbers (-want +got):\n%s", diff)
	}
	for _, db := range router.Databases() {
		checkGates(t, installation, db.Name, openGates(db.Numbers...))
	}
	if opened, err := postgres.OpenNumbers(t.Context(), router); err != nil || len(opened) > 0 {
		t.Errorf("opened %v again, %v; want nothing", opened, err)
	}
}

func TestOpenNumbers_RefusesAnotherPlacement(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	settings := installation.Settings(postgres.RoleOwner)
	settings.Placement[3], settings.Placement[5], settings.Placement[60] = "data2", "data2", "data1"
	refuses(t, open(t, settings),
		"open on data2, and placed on data1: the numbers 60",
		"open on data1, and placed on data2: the numbers 3,5",
		"moving a number takes more than another placement")
	checkGates(t, installation, "data1", openGates(router(t, installation).Databases()[0].Numbers...))
	checkGates(t, installation, "data2", openGates(router(t, installation).Databases()[1].Numbers...))
}

// A number that moved stays closed where it was: that fences whoever knows only
// the old placement. It is not opened before it has arrived.
func TestOpenNumbers_KnowsANumberThatMoves(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	settings := installation.Settings(postgres.RoleOwner)
	settings.Placement[3] = "data2"
	moving := open(t, settings)
	exec(t, installation, "data1", `UPDATE number_gates SET state = 'closed' WHERE number = 3`)
	refuses(t, moving, "closed on data1, and not yet on data2, where they are placed: the numbers 3",
		"moving a number takes more than another placement")

	exec(t, installation, "data2", `INSERT INTO number_gates VALUES (3, 'open', 2, 1)`)
	if opened, err := postgres.OpenNumbers(t.Context(), moving); err != nil || len(opened) > 0 {
		t.Errorf("after the move: opened %v, %v; want nothing", opened, err)
	}
}

func TestOpenNumbers_OpenTwiceIsAFaultWhereverItIsPlaced(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	exec(t, installation, "data2", `INSERT INTO number_gates VALUES (3, 'open', 1, 1)`)
	refuses(t, router(t, installation), "open on data2, and placed on data1: the numbers 3",
		"moving a number takes more than another placement")
}

// A database that was left out of the configuration must not be replaced by an
// empty one: names would be given to a second owner.
func TestOpenNumbers_RefusesLostNumbersOnceThereAreTenants(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	exec(t, installation, "control", `
		INSERT INTO tenants (tenant_id, name, state, layout, identity_state, handle_policy, id_key, fingerprint, revision, created_at, updated_at)
		VALUES (gen_random_uuid(), 'acme', 'active', 'v1-64-fresh', 'open', 'ascii', decode(repeat('00', 32), 'hex'), '', 1, now(), now())`)
	exec(t, installation, "data2", `DELETE FROM number_gates WHERE number <> 40`)
	refuses(t, router(t, installation), "there are tenants already, and no configured database has the numbers 32-39,41-63: "+
		"is one missing from HOLDFAST_DATA_URLS?")
	checkGates(t, installation, "data2", openGates(40))
}

func router(t *testing.T, installation *testkit.Installation) *postgres.Router {
	t.Helper()
	return installation.Router(t, postgres.RoleOwner)
}

func open(t *testing.T, settings postgres.Settings) *postgres.Router {
	t.Helper()
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	return router
}

func refuses(t *testing.T, router *postgres.Router, want ...string) {
	t.Helper()
	opened, err := postgres.OpenNumbers(t.Context(), router)
	if err == nil {
		t.Fatalf("opened %v, want a refusal", opened)
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
}

func openGates(numbers ...domain.Number) []postgres.Gate {
	var gates []postgres.Gate
	for _, n := range numbers {
		gates = append(gates, postgres.Gate{Number: n, State: "open", RecordFormat: 1, LeaseRules: 1})
	}
	return gates
}

func checkGates(t *testing.T, installation *testkit.Installation, database string, want []postgres.Gate) {
	t.Helper()
	got, err := postgres.ReadGates(t.Context(), installation.Admin(t, database))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("gates of %s (-want +got):\n%s", database, diff)
	}
}
