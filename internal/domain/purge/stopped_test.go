package purge

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlPlant = `
INSERT INTO account_devices (tenant_id, number, account_id, device_id, confirmed, created_at)
VALUES ($1, $2, gen_random_uuid(), gen_random_uuid(), true, now())`

// plant writes a row as a process that serves does.
func plant(ctx context.Context, db *postgres.Database, tenant domain.TenantID, meanwhile func()) error {
	number := db.Numbers[0]
	entry := tenancy.Entry{Tenant: tenant, Numbers: []domain.Number{number}, Purpose: tenancy.Serve}
	return tenancy.Run(ctx, db, entry, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlPlant, int16(number))
		if err := tx.Send(ctx); err != nil {
			return err
		}
		meanwhile()
		return nil
	})
}

// I31: a process was stopped before the purge and goes on behind it: it can neither
// read nor write, for whatever purpose. One that was stopped within a transaction keeps
// the purge from beginning until that has ended.
func TestPurge_AProcessThatWasStopped_CanNeitherReadNorWrite(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	stopped, tenant := s.in.Router(t, postgres.RoleAPI), s.tenant(t)
	w := s.worker(t)
	err := plant(t.Context(), stopped.Databases()[1], tenant, func() {
		now, err := s.store.Tenant(t.Context(), ada, tenant)
		if err == nil {
			_, err = s.store.AskDeletion(t.Context(), ada, tenant, now.Revision)
		}
		if err != nil {
			t.Error(err)
		}
		_, err = s.store.ApproveDeletion(t.Context(), grace, tenant) // waits for the transaction, as long as a lock may be waited for
		expectCode(t, err, domain.KindUnavailable, "database_busy")
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.ApproveDeletion(t.Context(), grace, tenant); err != nil {
		t.Fatal(err)
	}
	s.clock.advance(tenancy.DeletionGrace)
	had := s.rowsOf(t, tenant)
	s.finish(t, w, tenant)
	s.expectGone(t, tenant, had, 3, 2)
	for _, db := range stopped.Databases() {
		expectCode(t, plant(t.Context(), db, tenant, func() {}), domain.KindForbidden, "tenant_closed")
		for _, purpose := range []tenancy.Purpose{tenancy.Serve, tenancy.Maintain, tenancy.Export, tenancy.Purge} {
			entry := tenancy.Entry{Tenant: tenant, Numbers: db.Numbers, Purpose: purpose, ReadOnly: true}
			err := tenancy.Run(t.Context(), db, entry, func(context.Context, *tenancy.Tx) error { return nil })
			expectCode(t, err, domain.KindForbidden, "tenant_closed")
		}
	}
	// In the control database likewise.
	_, _, err = s.store.CreatePrincipal(t.Context(), ada, tenant, tenancy.NewPrincipal{Name: "late", Scopes: []string{tenancy.RecordRead}})
	expectCode(t, err, domain.KindConflict, "tenant_purged")
	if diff := cmp.Diff(map[string]int64{}, s.rowsOf(t, tenant)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}
