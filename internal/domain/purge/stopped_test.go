package purge

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/limits"
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
		_, err = s.store.ApproveDeletion(t.Context(), grace, tenant, now.Revision+1) // waits for the transaction, as long as a lock may be waited for
		expectCode(t, err, domain.KindUnavailable, "database_busy")
	})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := s.store.Tenant(t.Context(), ada, tenant)
	if err == nil {
		_, err = s.store.ApproveDeletion(t.Context(), grace, tenant, asked.Revision)
	}
	if err != nil {
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

// stocks is a domain whose count of a tenant ends when the test wants, and how.
type stocks func() (map[domain.Stock]int64, error)

func (count stocks) CountStocks(context.Context, string, domain.TenantID) (map[domain.Stock]int64, error) {
	return count()
}

// A worker had counted a tenant, or been refused, and was stopped before it wrote that
// down. Behind the purge, and while it goes on, it leaves no row.
func TestPurge_AWorkerThatWasStoppedWhileItCounted_WritesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	tenant, w := s.doomed(t), s.worker(t)
	had := s.rowsOf(t, tenant)
	control := s.in.Router(t, postgres.RoleWorker).Control()
	refusal := domain.Forbidden("tenant_suspended", "The tenant is suspended.")
	for s.progress(t, tenant).Step != stepRows {
		if _, err := w.Step(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	for _, until := range []string{"during the purge", "behind it"} {
		t.Run(until, func(t *testing.T) {
			before := s.rowsOf(t, tenant)
			counted := limits.NewCounter(control, stocks(func() (map[domain.Stock]int64, error) { return map[domain.Stock]int64{}, nil }))
			expectCode(t, counted.Count(t.Context(), "elsewhere", tenant), domain.KindForbidden, "tenant_closed")
			refused := limits.NewCounter(control, stocks(func() (map[domain.Stock]int64, error) { return nil, refusal }))
			expectCode(t, refused.Count(t.Context(), "elsewhere", tenant), domain.KindForbidden, "tenant_suspended")
			if diff := cmp.Diff(before, s.rowsOf(t, tenant)); diff != "" {
				t.Errorf("something was written (-before +after):\n%s", diff)
			}
		})
		s.finish(t, w, tenant)
	}
	s.expectGone(t, tenant, had, 3, 2)
}
