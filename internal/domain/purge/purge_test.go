package purge

import (
	"crypto/sha256"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func sum(body []byte) [32]byte { return sha256.Sum256(body) }

func TestPurge_LeavesNothingButTheTombstone_AndNobodyElseIsTouched(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	neighbour, tenant := s.tenant(t), s.doomed(t)
	had, theirs := s.rowsOf(t, tenant), s.rowsOf(t, neighbour)
	s.finish(t, s.worker(t), tenant)
	s.expectGone(t, tenant, had, 3, 2)
	told := column[string](t, s.admin["control"], `
SELECT operation FROM audit_log WHERE tenant_id = $1 AND operation LIKE 'tenant_purge.%' ORDER BY sequence`, tenant)
	if diff := cmp.Diff([]string{"tenant_purge.begin", "tenant_purge.end"}, told); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(theirs, s.rowsOf(t, neighbour)); diff != "" {
		t.Errorf("the neighbour's rows (-want +got):\n%s", diff)
	}
	if left, jobs := s.objectsOf(t, neighbour), s.jobsOf(t, neighbour); left != "a b c" || jobs != 2 {
		t.Errorf("the neighbour has the objects %q and %d jobs", left, jobs)
	}
}

// Every table that has a tenant's rows is purged, or is named here by whoever has
// thought about what stays.
func TestPurge_KnowsEveryTable(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	stay := map[string][]string{
		"control": {"revocations", "tenant_deletions", "tenant_purges", "tenants"},
		"data1":   {"purge_counts", "tenant_gates"},
	}
	for name, admin := range s.admin {
		kept := column[string](t, admin, `
SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname::text <> ALL ($1) AND c.relname NOT LIKE 'audit%'
 ORDER BY 1`, s.tables[name])
		if diff := cmp.Diff(stay[name], kept); diff != "" {
			t.Errorf("%s keeps (-want +got):\n%s", name, diff)
		}
	}
	if len(s.tables["data1"]) < 30 || len(s.tables["control"]) < 10 {
		t.Errorf("only these are purged: %v", s.tables)
	}
	// A pass finds its rows by the beginning of the primary key.
	others := column[string](t, s.admin["data1"], `
SELECT i.indrelid::regclass::text FROM pg_index i
 WHERE i.indisprimary AND i.indrelid::regclass::text = ANY ($1)
   AND ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:1]) ORDER BY a.attnum) <> '{tenant_id,number}'`, s.tables["data1"])
	if len(others) > 0 {
		t.Errorf("another key have %v", others)
	}
}

// What was under way to the bucket when the gates closed arrives late.
func TestPurge_ObjectsThatArriveLateAreDeletedToo(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	tenant, w := s.doomed(t), s.worker(t)
	had := s.rowsOf(t, tenant)
	for s.progress(t, tenant).Step != stepWait {
		if _, err := w.Step(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	s.put(t, tenant, "0", "late")
	if more, err := w.Step(t.Context(), tenant); more || err != nil || s.progress(t, tenant).Step != stepWait {
		t.Errorf("it doesn't wait: %v, %v", more, err)
	}
	if due, err := w.Due(t.Context(), 10); err != nil || len(due) != 0 {
		t.Errorf("due while it waits are %v, %v", due, err)
	}
	s.finish(t, w, tenant)
	s.expectGone(t, tenant, had, 5, 2)
}

func TestPurge_ByTwoAtOnce_CountsEachRowOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	tenant := s.doomed(t)
	had := s.rowsOf(t, tenant)
	var all sync.WaitGroup
	for range 3 {
		w := s.worker(t)
		all.Go(func() {
			for s.progress(t, tenant).Step != stepWait {
				if _, err := w.Step(t.Context(), tenant); err != nil && domain.KindOf(err) != domain.KindUnavailable {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	s.finish(t, s.worker(t), tenant)
	s.expectGone(t, tenant, had, 3, 2)
}

// Nothing is deleted of a tenant that isn't to be: whose deletion nobody approved, is
// in its grace, was called off, or is held.
func TestPurge_DeletesNothingBeforeItsTime(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	w := s.worker(t)
	for name, prepare := range map[string]func(t *testing.T, tenant domain.TenantID){
		"never asked for": func(*testing.T, domain.TenantID) {},
		"in its grace": func(t *testing.T, tenant domain.TenantID) {
			s.clock.advance(2 * tenancy.DeletionGrace)
			s.doom(t, tenant)
			s.clock.advance(tenancy.DeletionGrace - 1)
		},
		"called off": func(t *testing.T, tenant domain.TenantID) {
			s.doom(t, tenant)
			s.clock.advance(tenancy.DeletionGrace)
			if _, err := s.store.CancelDeletion(t.Context(), ada, tenant); err != nil {
				t.Error(err)
			}
		},
		"held": func(t *testing.T, tenant domain.TenantID) {
			s.doom(t, tenant)
			if _, err := s.store.HoldTenant(t.Context(), ada, tenant, "a lawsuit"); err != nil {
				t.Error(err)
			}
			s.clock.advance(tenancy.DeletionGrace)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tenant := s.tenant(t)
			had := s.rowsOf(t, tenant)
			prepare(t, tenant)
			due, err := w.Due(t.Context(), 10)
			if err != nil || slices.Contains(due, tenant) {
				t.Errorf("due are %v, %v", due, err)
			}
			if more, err := w.Step(t.Context(), tenant); more || err != nil {
				t.Errorf("a step is %v, %v", more, err)
			}
			if diff := cmp.Diff(had, s.rowsOf(t, tenant)); diff != "" || s.objectsOf(t, tenant) != "a b c" {
				t.Errorf("something is gone (-had +has):\n%s", diff)
			}
		})
	}
}

// A process without an object store deletes nothing of a tenant that has objects.
func TestPurge_WithoutTheObjectStoreDeletesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	tenant := s.doomed(t)
	had := s.rowsOf(t, tenant)
	w := s.service(s.in.Router(t, postgres.RoleWorker), nil)
	if _, err := w.Step(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	_, err := w.Step(t.Context(), tenant)
	expectCode(t, err, domain.KindConflict, "object_store_missing")
	if p := s.progress(t, tenant); p.Stalled != "object_store_missing" || p.Step != stepGates {
		t.Errorf("the progress is %+v", p)
	}
	if diff := cmp.Diff(had, s.rowsOf(t, tenant)); diff != "" {
		t.Errorf("something is gone (-had +has):\n%s", diff)
	}
	s.finish(t, s.worker(t), tenant)
	s.expectGone(t, tenant, had, 3, 2)
}

// A job that runs is let end, and nothing behind it begins before.
func TestPurge_WaitsForAJobThatRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1)
	tenant, w := s.doomed(t), s.worker(t)
	had := s.rowsOf(t, tenant)
	s.job(t, tenant, "running")
	more := true
	for more {
		var err error
		if more, err = w.Step(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.progress(t, tenant); p.Step != stepJobs || s.jobsOf(t, tenant) != 1 {
		t.Errorf("it is at %+v, with %d jobs", p, s.jobsOf(t, tenant))
	}
	// The age of the last step tells how long it waits; an earlier reason is no longer one.
	const sqlStepped = `SELECT stepped_at FROM tenant_purges WHERE tenant_id = $1`
	before := column[time.Time](t, s.control, sqlStepped, tenant)[0]
	exec(t, s.control, `UPDATE tenant_purges SET stalled = 'database_unavailable' WHERE tenant_id = $1`, tenant)
	s.clock.advance(time.Minute)
	if more, err := w.Step(t.Context(), tenant); more || err != nil {
		t.Errorf("a step while it waits is %v, %v", more, err)
	}
	if after := column[time.Time](t, s.control, sqlStepped, tenant)[0]; !after.Equal(before) || s.progress(t, tenant).Stalled != "" {
		t.Errorf("its last step was at %v, want %v; it is at %+v", after, before, s.progress(t, tenant))
	}
	exec(t, s.control, `UPDATE river_job SET state = 'completed', finalized_at = now() WHERE state = 'running'`)
	s.finish(t, w, tenant)
	s.expectGone(t, tenant, had, 3, 3)
}
