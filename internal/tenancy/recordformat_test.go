package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// floors tells, by database, the record formats that its numbers demand.
func (in *installation) floors(t testing.TB) map[string][]int16 {
	t.Helper()
	floors := map[string][]int16{}
	for _, db := range in.first.router.Databases() {
		floors[db.Name] = rows(t, in.databases.Admin(t, db.Name), pgx.RowTo[int16], `SELECT DISTINCT record_format FROM number_gates ORDER BY 1`)
	}
	return floors
}

func allFloors(format int16) map[string][]int16 {
	return map[string][]int16{"data1": {format}, "data2": {format}, "data3": {format}}
}

func gatesAt(state string, format int16) []gateRow {
	gates := allGates(state)
	for i := range gates {
		gates[i].RecordFormat = format
	}
	return gates
}

// enterKnowing begins a transaction on number n as a process that knows a record
// format.
func enterKnowing(ctx context.Context, pool *pgxpool.Pool, tenant domain.TenantID, n domain.Number, format int) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT enter($1, ARRAY[$2]::smallint[], 'serve', NULL, $3, 1::smallint, false)`, tenant, int16(n), format)
		return err
	})
}

// admits tells that processes which know a record format may serve the tenant,
// on every number. It fails the test where only some of the numbers admit them.
func (in *installation) admits(t testing.TB, tenant domain.TenantID, format int) bool {
	t.Helper()
	admitted := 0
	for n := range domain.Number(domain.Numbers) {
		err := enterKnowing(t.Context(), in.first.router.Database(n).Pool, tenant, n, format)
		var pg *pgconn.PgError
		switch {
		case err == nil:
			admitted++
		case !errors.As(err, &pg) || pg.Code != "HF003":
			t.Fatal(err)
		}
	}
	if admitted != 0 && admitted != domain.Numbers {
		t.Errorf("%d of %d numbers admit who knows record format %d", admitted, domain.Numbers, format)
	}
	return admitted > 0
}

func TestSetRecordFormat_NewCollectionsBeginInObjects_AndWhoKnowsSQLAloneIsRefused(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	tenant, neighbour := in.tenant(t, "acme"), in.tenant(t, "neighbour")
	if !in.admits(t, tenant.ID, 1) || !in.admits(t, neighbour.ID, 1) {
		t.Error("who knows SQL alone is refused from the beginning")
	}
	revoked := len(in.revocations(t))

	want := tenant
	want.RecordFormat, want.Revision = 2, tenant.Revision+1
	for range 2 {
		got, err := in.first.store.SetRecordFormat(t.Context(), in.ada, tenant.ID, tenancy.RecordsInObjects)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("set: %v (-want +got)\n%s", err, diff)
		}
	}
	if got := len(in.revocations(t)); got != revoked {
		t.Errorf("%d revocations were added, want none", got-revoked)
	}
	later := in.tenant(t, "later")
	all, _, err := in.first.store.Tenants(t.Context(), in.ada, tenancy.List[string]{Limit: 10})
	must(t, err)
	if diff := cmp.Diff([]tenancy.Tenant{want, later, neighbour}, all); diff != "" || later.RecordFormat != 1 {
		t.Errorf("a later tenant begins at %d; tenants (-want +got)\n%s", later.RecordFormat, diff)
	}
	for id, gates := range map[domain.TenantID][]gateRow{tenant.ID: gatesAt("open", 2), neighbour.ID: allGates("open"), later.ID: allGates("open")} {
		if diff := cmp.Diff(gates, in.gates(t, id)); diff != "" {
			t.Errorf("gates (-want +got)\n%s", diff)
		}
	}
	if diff := cmp.Diff(allFloors(2), in.floors(t)); diff != "" {
		t.Errorf("floors (-want +got)\n%s", diff)
	}
	for _, id := range []domain.TenantID{tenant.ID, neighbour.ID, later.ID} {
		if in.admits(t, id, 1) {
			t.Error("who knows SQL alone is admitted")
		}
		if !in.admits(t, id, 2) {
			t.Error("who knows both is refused")
		}
		must(t, in.serves(t, id)) // as this build enters
	}
}

func TestSetRecordFormat_CantBeTakenBack_AndSQLIsWhatThereIsAnyway(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	tenant := in.tenant(t, "acme")
	before := in.everything(t)
	got, err := in.first.store.SetRecordFormat(t.Context(), in.ada, tenant.ID, tenancy.RecordsInSQL)
	if diff := cmp.Diff(tenant, got); diff != "" || err != nil {
		t.Errorf("set to what it is: %v (-want +got)\n%s", err, diff)
	}
	if diff := cmp.Diff(before, in.everything(t)); diff != "" {
		t.Errorf("it changed something (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff(allFloors(1), in.floors(t)); diff != "" {
		t.Errorf("floors (-want +got)\n%s", diff)
	}

	_, err = in.first.store.SetRecordFormat(t.Context(), in.ada, tenant.ID, tenancy.RecordsInObjects)
	must(t, err)
	before = in.everything(t)
	_, err = in.first.store.SetRecordFormat(t.Context(), in.ada, tenant.ID, tenancy.RecordsInSQL)
	wantCode(t, err, domain.KindConflict, "record_format_fixed")
	if diff := cmp.Diff(before, in.everything(t)); diff != "" {
		t.Errorf("it changed something (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff(gatesAt("open", 2), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
}

func TestSetRecordFormat_RefusedChangesNothingAnywhere(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	gates := &brokenGates{Gates: tenancy.NewGates(in.first.router)}
	gates.broken.Store(true)
	if _, _, err := in.startOn(t, in.first.router, gates).store.CreateTenant(t.Context(), in.ada,
		tenancy.NewTenant{Name: "half", HandlePolicy: "ascii"}); !errors.Is(err, errBroken) {
		t.Fatalf("error = %v, want %v", err, errBroken)
	}
	half := rows(t, in.admin, pgx.RowTo[domain.TenantID], `SELECT tenant_id FROM tenants`)[0]
	whole := in.tenant(t, "whole")
	before := in.everything(t)
	for _, c := range []struct {
		tenant domain.TenantID
		format int16
		kind   domain.Kind
		code   string
	}{
		{domain.TenantID{1}, 2, domain.KindNotFound, "tenant_not_found"},
		{domain.TenantID{1}, 1, domain.KindNotFound, "tenant_not_found"},
		{tenancy.Operators, 2, domain.KindNotFound, "tenant_not_found"},
		{half, 2, domain.KindConflict, "tenant_provisioning"},
		{half, 1, domain.KindConflict, "tenant_provisioning"},
		{whole.ID, 0, domain.KindInvalid, "record_format_unknown"},
		{whole.ID, 3, domain.KindInvalid, "record_format_unknown"},
		{whole.ID, -1, domain.KindInvalid, "record_format_unknown"},
	} {
		_, err := in.first.store.SetRecordFormat(t.Context(), in.ada, c.tenant, c.format)
		wantCode(t, err, c.kind, c.code)
	}
	if diff := cmp.Diff(before, in.everything(t)); diff != "" {
		t.Errorf("it changed something (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff(allFloors(1), in.floors(t)); diff != "" {
		t.Errorf("floors (-want +got)\n%s", diff)
	}
}

func TestSetRecordFormat_OfASuspendedTenantShowsWhenItIsResumed(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	tenant := in.tenant(t, "acme")
	_, err := in.first.store.SuspendTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	got, err := in.first.store.SetRecordFormat(t.Context(), in.ada, tenant.ID, tenancy.RecordsInObjects)
	if err != nil || got.State != "suspended" || got.RecordFormat != 2 {
		t.Errorf("set = %+v, %v; want it suspended and at 2", got, err)
	}
	if diff := cmp.Diff(gatesAt("suspended", 2), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
	_, err = in.first.store.ResumeTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	if diff := cmp.Diff(gatesAt("open", 2), in.gates(t, tenant.ID)); diff != "" {
		t.Errorf("gates (-want +got)\n%s", diff)
	}
}

func TestSetRecordFormat_BySeveralOperatorsAmongSuspensions_IsDoneOnceAndGatesAreAsTheRowSays(t *testing.T) {
	t.Parallel()
	in := install(t, 3)
	second := in.start(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		tenant := in.tenant(t, name)
		_, errs := parallel(t.Context(), 8, func(ctx context.Context, i int) (tenancy.Tenant, error) {
			store := []*tenancy.Store{in.first.store, second.store}[i%2]
			switch i {
			case 6:
				return store.SuspendTenant(ctx, in.ada, tenant.ID)
			case 7:
				return store.ResumeTenant(ctx, in.ada, tenant.ID)
			default:
				return store.SetRecordFormat(ctx, in.ada, tenant.ID, tenancy.RecordsInObjects)
			}
		})
		must(t, errors.Join(errs...))
		now, err := in.first.store.Tenant(t.Context(), in.ada, tenant.ID)
		must(t, err)
		// A resume before the suspension changes nothing, and one behind it does.
		changes := map[string]int64{"suspended": 2, "active": 3}[now.State]
		if now.RecordFormat != 2 || now.Revision != tenant.Revision+changes {
			t.Errorf("the tenant is %+v, want it at format 2 and revision %d", now, tenant.Revision+changes)
		}
		want := map[string]string{"active": "open", "suspended": "suspended"}[now.State]
		if diff := cmp.Diff(gatesAt(want, 2), in.gates(t, tenant.ID)); diff != "" {
			t.Fatalf("the tenant is %s; gates (-want +got)\n%s", now.State, diff)
		}
	}
	if diff := cmp.Diff(allFloors(2), in.floors(t)); diff != "" {
		t.Errorf("floors (-want +got)\n%s", diff)
	}
}

// watchedGates calls ahead of each step on the data databases.
type watchedGates struct {
	*tenancy.Gates
	beforeFloor, beforeSet func()
}

func (g *watchedGates) DemandRecordFormat(ctx context.Context, format int16) error {
	g.beforeFloor()
	return g.Gates.DemandRecordFormat(ctx, format)
}

func (g *watchedGates) Set(ctx context.Context, tenant domain.TenantID, state tenancy.GateState) error {
	g.beforeSet()
	return g.Gates.Set(ctx, tenant, state)
}

// A data database goes away, at each step and in each place, and comes back. In
// between no collection can begin where a process might read it that can't.
func TestSetRecordFormat_InterruptedAnywhere_NobodyIsEverMisled_AndARetryFinishes(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"floor", "gates"} {
		for i, away := range []string{"data1", "data2", "data3"} {
			t.Run(fmt.Sprintf("the %s of %s", step, away), func(t *testing.T) {
				t.Parallel()
				in := install(t, 3)
				proxied := in.databases.Through(t)
				router := proxied.Router(t, postgres.RoleAPI)
				tenant := in.tenant(t, "acme")
				cut := func() { proxied.Proxy(away).Refuse(); proxied.Proxy(away).CutAll() }
				nothing := func() {}
				gates := &watchedGates{tenancy.NewGates(router), nothing, nothing}
				floors, format, wantGates := allFloors(2), int16(1), allGates("open")
				if step == "floor" {
					gates.beforeFloor = cut
					for _, db := range []string{"data1", "data2", "data3"}[i:] {
						floors[db] = []int16{1}
					}
				} else {
					gates.beforeSet = cut
					format = 2
					for j := range wantGates {
						if j != i {
							wantGates[j].RecordFormat = 2
						}
					}
				}
				store := in.startOn(t, router, gates).store
				set := func() (tenancy.Tenant, error) {
					return store.SetRecordFormat(t.Context(), in.ada, tenant.ID, tenancy.RecordsInObjects)
				}
				for range 2 { // as often as one likes
					_, err := set()
					wantCode(t, err, domain.KindUnavailable, "database_unavailable")
					if diff := cmp.Diff(floors, in.floors(t)); diff != "" {
						t.Errorf("floors (-want +got)\n%s", diff)
					}
					if diff := cmp.Diff(wantGates, in.gates(t, tenant.ID)); diff != "" {
						t.Errorf("gates (-want +got)\n%s", diff)
					}
					if now, err := in.first.store.Tenant(t.Context(), in.ada, tenant.ID); err != nil || now.RecordFormat != format {
						t.Errorf("the tenant is at %d, %v, want %d", now.RecordFormat, err, format)
					}
				}

				gates.beforeFloor, gates.beforeSet = nothing, nothing
				proxied.Proxy(away).Accept()
				want := tenant
				want.RecordFormat, want.Revision = 2, tenant.Revision+1
				got, err := set()
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("retry: %v (-want +got)\n%s", err, diff)
				}
				if diff := cmp.Diff(gatesAt("open", 2), in.gates(t, tenant.ID)); diff != "" {
					t.Errorf("gates (-want +got)\n%s", diff)
				}
				if diff := cmp.Diff(allFloors(2), in.floors(t)); diff != "" {
					t.Errorf("floors (-want +got)\n%s", diff)
				}
			})
		}
	}
}
