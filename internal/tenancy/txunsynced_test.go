package tenancy_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestUnsynced_HoldsForItsOwnTransactionOnly(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	// The tests' server may wait for nothing by itself.
	if _, err := in.Admin(t, "data1").Exec(t.Context(), `
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = on', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
	settings := in.Settings(postgres.RoleAPI)
	settings.PoolSize = 1 // the same connection each time
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	tenant := domain.RandomID[domain.TenantKind]()
	if err := tenancy.NewGates(router).Set(t.Context(), tenant, tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open"}); err != nil {
		t.Fatal(err)
	}
	for _, unsynced := range []bool{false, true, false} {
		var setting string
		e := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{0}, Purpose: tenancy.Serve, Unsynced: unsynced}
		err := tenancy.Run(t.Context(), router.Databases()[0], e, func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(`SELECT current_setting('synchronous_commit') WHERE $1::uuid IS NOT NULL`).QueryRow(func(row pgx.Row) error { return row.Scan(&setting) })
			return nil
		})
		want := map[bool]string{true: "off", false: "on"}[unsynced]
		if err != nil || setting != want {
			t.Errorf("unsynced %v: the setting is %q, %v, want %q", unsynced, setting, err, want)
		}
	}
}
