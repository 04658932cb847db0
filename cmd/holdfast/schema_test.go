package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// result is what a command line left.
type result struct {
	code           int
	stdout, stderr string
}

func execute(t *testing.T, environ []string, args ...string) result {
	t.Helper()
	var stdout, stderr strings.Builder
	code := run(t.Context(), args, environ, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

const upToDate = "The schema is up to date.\n"

func TestSchemaUp_FromNothing_LetsTheServingRolesServe(t *testing.T) {
	t.Parallel()
	separate := testkit.EmptyDatabases(t, 3).Environ()
	one := testkit.EmptyDatabases(t, 1).Environ()
	one = append(one, "HOLDFAST_DATA_URLS=", "HOLDFAST_PLACEMENT=") // so control is the data database too
	for name, environ := range map[string][]string{"separate databases": separate, "one database": one} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := execute(t, environ, "schema", "status"); got.code != exitDiffers || !strings.Contains(got.stdout, "run holdfast schema up") {
				t.Errorf("status before: %+v, want code %d and what to run", got, exitDiffers)
			}
			if got := execute(t, environ, "schema", "up"); got.code != exitOK || !strings.HasSuffix(got.stdout, upToDate) {
				t.Fatalf("up: %+v", got)
			}
			if diff := cmp.Diff(result{exitOK, upToDate, ""}, execute(t, environ, "schema", "up"), cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("up again (-want +got):\n%s", diff)
			}
			if got := execute(t, environ, "schema", "status"); got.code != exitOK || !strings.HasSuffix(got.stdout, upToDate) {
				t.Errorf("status after: %+v", got)
			}
			checkServing(t, append(environ, "HOLDFAST_SERVER_KEYS=dev1:"+strings.Repeat("5e", 32)))
		})
	}
}

// An empty control database would take whoever comes first for its operator.
func TestSchemaUp_MakesNoSecondControlDatabase(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	for name, other := range map[string]string{
		"an empty one":    testkit.EmptyDatabases(t, 1).Settings(postgres.RoleOwner).Control,
		"a data database": installation.Settings(postgres.RoleOwner).Data[0].URL,
	} {
		t.Run(name, func(t *testing.T) {
			environ := append(installation.Environ(), "HOLDFAST_CONTROL_URL="+other)
			const says = "the control database has no schema, and data1, data2 have one already, of an installation that has another control database: is HOLDFAST_CONTROL_URL right?"
			if got := execute(t, environ, "schema", "up"); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, says) {
				t.Errorf("up: %+v", got)
			}
			got := execute(t, environ, "schema", "status")
			if got.code != exitDiffers || !strings.Contains(got.stdout, says) || !strings.Contains(got.stdout, "control   control  -") || strings.Contains(got.stdout, "schema up") {
				t.Errorf("status, behind it: %+v", got)
			}
		})
	}
}

// checkServing starts as the serving processes do, with the same environment.
func checkServing(t *testing.T, environ []string) {
	t.Helper()
	for _, process := range []config.Process{config.API, config.Worker} {
		c, err := config.Load(process, environ)
		if err != nil {
			t.Fatal(err)
		}
		router, err := postgres.Open(t.Context(), c.Postgres())
		if err != nil {
			t.Fatal(err)
		}
		defer router.Close()
		if err := postgres.CheckSchema(t.Context(), router); err != nil {
			t.Errorf("%s: %v", process, err)
		}
		if err := riverschema.Check(t.Context(), router.Control()); err != nil {
			t.Errorf("%s: %v", process, err)
		}
	}
}

func TestSchemaUp_SeveralAtOnce(t *testing.T) {
	t.Parallel()
	environ := testkit.EmptyDatabases(t, 2).Environ()
	var group errgroup.Group
	results := make([]result, 3)
	for i := range results {
		group.Go(func() error {
			results[i] = execute(t, environ, "schema", "up")
			return nil
		})
	}
	group.Wait()
	said := map[string]int{}
	for _, got := range results {
		if got.code != exitOK {
			t.Errorf("up: %+v", got)
		}
		for line := range strings.Lines(got.stdout) {
			said[line]++
		}
	}
	for line, times := range said {
		if line != upToDate && times > 1 {
			t.Errorf("%d of them say %q", times, line)
		}
	}
}

func TestSchemaStatus_JSON(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	for _, sql := range []string{
		`DELETE FROM goose_data WHERE version_id = 1`,
		`INSERT INTO goose_data (version_id, is_applied) VALUES (900, true)`,
		`UPDATE number_gates SET state = 'closed' WHERE number IN (33, 34)`,
		`DELETE FROM number_gates WHERE number = 63`,
		`INSERT INTO number_gates VALUES (0, 'open', 1, 1)`,
	} {
		if _, err := installation.Admin(t, "data2").Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	out := execute(t, installation.Environ(), "schema", "status", "--json")
	if out.code != exitDiffers {
		t.Fatalf("status: %+v, want code %d", out, exitDiffers)
	}
	var got schema.Status
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil {
		t.Fatal(err)
	}
	control, river, data := versions(t, postgres.ControlSet), riverVersions(t), versions(t, postgres.DataSet)
	want := schema.Status{
		Sets: []schema.Set{
			{Database: "control", Name: "control", Applied: control, Pending: []int64{}, Unknown: []int64{}},
			{Database: "control", Name: "river", Applied: river, Pending: []int64{}, Unknown: []int64{}},
			{Database: "data1", Name: "data", Applied: data, Pending: []int64{}, Unknown: []int64{}},
			{Database: "data2", Name: "data", Applied: append(slices.Clone(data[1:]), 900), Pending: []int64{1}, Unknown: []int64{900}},
		},
		Numbers: []schema.Numbers{
			{Database: "data1", Placed: span(0, 31), Open: span(0, 31), Closed: []int{}},
			{Database: "data2", Placed: span(32, 63), Open: slices.Concat(span(0, 0), span(32, 32), span(35, 62)), Closed: []int{33, 34}},
		},
		Problems: []string{
			"data2, data: the schema is newer than this build (it has versions [900]): run the build that made it, or a later one",
			"closed on data2, where they are placed, and not served: the numbers 33-34",
			"open on data2, and placed on data1: the numbers 0",
			"open nowhere: the numbers 63: run holdfast schema up",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// What schema up refuses is no advice.
func TestSchemaStatus_OfADatabaseLeftOut_AsksForItOnceThereAreTenants(t *testing.T) {
	t.Parallel()
	installation := testkit.Databases(t, 2)
	const sql = `
		INSERT INTO tenants (tenant_id, name, state, layout, identity_state, handle_policy, id_key, fingerprint, revision, created_at, updated_at)
		VALUES (gen_random_uuid(), 'acme', 'active', 'v1-64-fresh', 'open', 'ascii', decode(repeat('00', 32), 'hex'), '', 1, now(), now())`
	if _, err := installation.Admin(t, "control").Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	if _, err := installation.Admin(t, "data1").Exec(t.Context(), `DELETE FROM number_gates WHERE number > 30`); err != nil {
		t.Fatal(err)
	}
	environ := append(installation.Environ(), "HOLDFAST_DATA_URLS=data1="+installation.Settings(postgres.RoleOwner).Data[0].URL, "HOLDFAST_PLACEMENT=data1=0-63")
	const says = "open nowhere: the numbers 31-63: there are tenants already: is a database missing from HOLDFAST_DATA_URLS?"
	if got := execute(t, environ, "schema", "status"); got.code != exitDiffers || !strings.Contains(got.stdout, says) || strings.Contains(got.stdout, "schema up") {
		t.Errorf("%+v, want %q", got, says)
	}
}

func versions(t *testing.T, set postgres.MigrationSet) []int64 {
	t.Helper()
	versions, err := set.Versions()
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

func riverVersions(t *testing.T) []int64 {
	t.Helper()
	versions, err := riverschema.Versions()
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// span is first to last, both in it.
func span(first, last int) []int {
	var numbers []int
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	environ := testkit.EmptyDatabases(t, 1).Environ()
	tests := map[string]struct {
		environ []string
		args    []string
		code    int
		stderr  string
	}{
		"no such command":    {environ, []string{"shcema", "up"}, exitUsage, `holdfast: unknown command "shcema" for "holdfast"`},
		"no such subcommand": {environ, []string{"schema", "upp"}, exitUsage, `holdfast: unknown command "upp" for "holdfast schema"`},
		"no such flag":       {environ, []string{"schema", "up", "--now"}, exitUsage, "holdfast: unknown flag: --now"},
		"too many arguments": {environ, []string{"schema", "up", "now"}, exitUsage, `holdfast: unknown command "now" for "holdfast schema up"`},
		"wrong configuration": {append(environ, "HOLDFAST_LOG_LEVEL=loud", "HOLDFAST_OWNER_PASSWORD="), []string{"schema", "up"}, exitUsage,
			"holdfast: the configuration is wrong:\n" +
				"HOLDFAST_LOG_LEVEL: \"loud\" is not one of debug, info, warn, error\n" +
				"HOLDFAST_OWNER_PASSWORD: is required\n"},
		"a password that the database refuses": {append(environ, "HOLDFAST_OWNER_PASSWORD=hunter2"), []string{"schema", "status"}, exitFailed,
			"holdfast: control database: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := execute(t, test.environ, test.args...)
			if got.code != test.code || !strings.HasPrefix(got.stderr, test.stderr) || strings.Contains(got.stderr, "hunter2") {
				t.Errorf("code %d, errors:\n%s\nwant %d:\n%s", got.code, got.stderr, test.code, test.stderr)
			}
		})
	}
}
