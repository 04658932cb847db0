package jobs_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

const (
	sqlPlantTenant = `
INSERT INTO tenants (tenant_id, name, state, layout, identity_state, handle_policy, id_key, fingerprint, revision, created_at, updated_at)
VALUES ($1, $2, $3, 'one', 'open', 'ascii', decode(repeat('00', 32), 'hex'), '', 1, now(), now())`

	// sqlPlantDeletion is one whose grace has been over for so many seconds.
	sqlPlantDeletion = `
INSERT INTO tenant_deletions (tenant_id, asker_id, asker, asked_at, asked_from, approver_id, approver, approved_at, former_state, purge_after)
VALUES ($1, gen_random_uuid(), 'ada', now(), 1, gen_random_uuid(), 'grace', now(), 'active', now() - make_interval(secs => $2))`

	// sqlPlantPurge is one whose last step is so many seconds old.
	sqlPlantPurge = `
INSERT INTO tenant_purges (tenant_id, step, turn, next_number, has_objects, after_object, objects, object_bytes, jobs, control_rows, rows, stalled, began_at, stepped_at)
VALUES ($1, $2, 1, 0, false, '', 0, 0, 0, '{}', '{}', $3, now(), now() - make_interval(secs => $4))`
)

// tenant plants one that is in a state.
func (b *bundle) tenant(t *testing.T, state string) domain.TenantID {
	t.Helper()
	id := domain.RandomID[domain.TenantKind]()
	b.exec(t, sqlPlantTenant, id, "t"+id.String(), state)
	return id
}

// The purge that has not come on for longest is told of, unless it is held, waits, or is
// done: so an alert on its age is about one that somebody must look at.
func TestMetrics_TellOfTenantsAndOfPurgesThatStall(t *testing.T) {
	b := setUp(t, 1)
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "holdfast-test", LogLevel: slog.LevelError, Output: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	b.tel.Meters, b.tel.Metrics = tel.Meters, tel.Metrics
	b.runner(t, &fakeIdentity{}, nil)
	expect := func(when string, stalled int, from, to float64) {
		t.Helper()
		response := httptest.NewRecorder()
		b.tel.Metrics.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
		told := response.Body.String()
		if got := valueOf(t, told, `holdfast_purge_stalled`); got != float64(stalled) {
			t.Errorf("%s: %v are stalled, want %d", when, got, stalled)
		}
		if got := valueOf(t, told, `holdfast_purge_step_age_seconds`); got < from || got >= to {
			t.Errorf("%s: the oldest step is %vs old, want %v to %v", when, got, from, to)
		}
		for _, state := range []string{"provisioning", "active", "suspended", "deleting", "purging", "purged"} {
			var want float64
			if err := b.admin.QueryRow(t.Context(), `SELECT count(*) FROM tenants WHERE state = $1`, state).Scan(&want); err != nil {
				t.Fatal(err)
			}
			if got := valueOf(t, told, fmt.Sprintf(`holdfast_tenants{state=%q}`, state)); got != want {
				t.Errorf("%s: %v tenants are %s, want %v", when, got, state, want)
			}
		}
	}
	expect("before any", 0, 0, 1)

	b.tenant(t, "active")
	b.exec(t, sqlPlantDeletion, b.tenant(t, "deleting"), -600)
	done := b.tenant(t, "purged")
	b.exec(t, sqlPlantDeletion, done, 90_000)
	b.exec(t, sqlPlantPurge, done, "rows", nil, 90_000)
	b.exec(t, `UPDATE tenant_purges SET step = 'done', purged_at = now() WHERE tenant_id = $1`, done)
	expect("in its grace, and done", 0, 0, 1)

	b.exec(t, sqlPlantDeletion, b.tenant(t, "deleting"), 500)
	expect("not begun", 0, 500, 600)

	waits := b.tenant(t, "purging")
	b.exec(t, sqlPlantDeletion, waits, 10_000)
	b.exec(t, sqlPlantPurge, waits, "wait", nil, 5000)
	b.exec(t, `UPDATE tenant_purges SET settled_at = now() + interval '10 minutes' WHERE tenant_id = $1`, waits)
	expect("waiting for uploads", 0, 500, 600)
	b.exec(t, `UPDATE tenant_purges SET settled_at = now() - interval '700 seconds' WHERE tenant_id = $1`, waits)
	expect("when they have settled", 0, 700, 800)

	stalls := b.tenant(t, "purging")
	b.exec(t, sqlPlantDeletion, stalls, 10_000)
	b.exec(t, sqlPlantPurge, stalls, "counts", "copies_left", 2000)
	expect("stalled", 1, 2000, 2100)
	b.exec(t, `UPDATE tenants SET hold_reason = 'a lawsuit', held_by = 'ada', held_at = now() WHERE tenant_id = $1`, stalls)
	expect("held", 0, 700, 800)

	closes := b.tenant(t, "purged")
	b.exec(t, sqlPlantDeletion, closes, 10_000)
	b.exec(t, sqlPlantPurge, closes, "rows", "database_unavailable", 3000)
	b.exec(t, `UPDATE tenant_purges SET step = 'close', purged_at = now() WHERE tenant_id = $1`, closes)
	expect("whose gates can't be closed", 1, 3000, 3100)
}

// valueOf finds a series' value in a scrape.
func valueOf(t *testing.T, told, series string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(told)
	if found == nil {
		t.Fatalf("not told: %s", series)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
