package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// pooledStack is a stack whose processes reach the databases through a real
// pgbouncer in transaction mode, which has so many connections to each of them for
// each role. A process has four times as many to the pooler.
func pooledStack(t *testing.T, databases, connections int) (*stack, *testkit.Pooled) {
	t.Helper()
	pooled := testkit.Databases(t, databases).Pooled(t, connections)
	s := stackOn(pooled.Installation, pooled.Settings(postgres.RoleAPI))
	s.env["HOLDFAST_POOLER"] = "transaction"
	s.env["HOLDFAST_POOL_SIZE"] = fmt.Sprint(4 * connections)
	s.env["HOLDFAST_WORKER_PASSWORD"] = pooled.Settings(postgres.RoleWorker).Password
	for _, setting := range testkit.BodiesEnviron(testkit.BodyStore(t)) {
		name, value, _ := strings.Cut(setting, "=")
		s.env[name] = value
	}
	return s, pooled
}

// Two APIs, a worker and two tenants work side by side through a pooler with few
// connections. They come to the answers that they come to without it, and leave
// nothing on its connections.
func TestPooler_AllWorkAtOnceAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	const connections = 4
	s, pooled := pooledStack(t, 2, connections)
	apis := []*running{s.spawn(t), s.spawn(t)}
	worker := s.spawnWorker(t)
	operator := s.operator(t, apis[0])

	var tenants []*pooledTenant
	for _, name := range []string{"acme", "bolt"} {
		tenants = append(tenants, newPooledTenant(t, s, apis, name))
	}
	var work errgroup.Group
	for _, tenant := range tenants {
		work.Go(func() error { return tenant.race(t.Context()) })
		work.Go(func() error { return tenant.append(t.Context()) })
		work.Go(func() error { return tenant.publish(t.Context()) })
	}
	work.Go(func() error {
		_, err := operator.RunSweepWithResponse(t.Context(), holdfast.SweepKindIdentity)
		return err
	})
	if err := work.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, apis[0].log, apis[1].log)
	}
	for _, tenant := range tenants {
		tenant.expectItsOwn(t)
	}

	control := s.installation.Admin(t, "control")
	eventually(t, "the worker has swept each database", func() bool {
		var swept int
		err := control.QueryRow(t.Context(),
			`SELECT count(DISTINCT args->>'database') FROM river_job WHERE kind = 'identity_sweep' AND state = 'completed'`).Scan(&swept)
		return err == nil && swept == 2
	})
	for _, r := range slices.Concat(apis, []*running{worker}) {
		if err := r.stop(); err != nil {
			t.Errorf("it ended with %v\n%s", err, r.log)
		}
		for line := range strings.Lines(r.log.String()) {
			if strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, "Error attempting to resign") {
				t.Error(line)
			}
		}
	}
	for _, database := range []string{"control", "data1", "data2"} {
		s.expectCleanConnections(t, database, connections)
	}
	for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
		expectNoTenant(t, pooled.Router(t, role), connections)
	}
}

// On the only connection that the pooler has, tenants take turns with each
// statement's transaction, and with a caller who has no tenant.
func TestPooler_TenantsTakeTurnsOnOneConnection(t *testing.T) {
	t.Parallel()
	s, pooled := pooledStack(t, 1, 1)
	r := s.spawn(t)
	var tenants []*pooledTenant
	for _, name := range []string{"acme", "bolt"} {
		tenants = append(tenants, newPooledTenant(t, s, []*running{r}, name))
	}
	nobody := pooled.Router(t, postgres.RoleAPI)
	var busy atomic.Int32
	busy.Store(int32(len(tenants)))
	var work errgroup.Group
	for _, tenant := range tenants {
		work.Go(func() error {
			defer busy.Add(-1)
			for _, do := range []func(context.Context) error{tenant.race, tenant.append, tenant.publish} {
				if err := do(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for asked := 0; busy.Load() > 0 || asked == 0; asked++ {
		expectNoTenant(t, nobody, 1)
	}
	if err := work.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, r.log)
	}
	for _, tenant := range tenants {
		tenant.expectItsOwn(t)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	s.expectCleanConnections(t, "data1", 1)
}

// Without the setting, prepared statements would fail now and then, and jobs would
// wait for ever: so nothing starts.
func TestPooler_WithoutItsSettingNothingStarts(t *testing.T) {
	t.Parallel()
	s, _ := pooledStack(t, 1, 1)
	err := run(t.Context(), s.environ("HOLDFAST_POOLER=none"), s.fetch, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "control database: a pooler stands before it, and HOLDFAST_POOLER is not set") {
		t.Errorf("the API ended with %v", err)
	}
	worker := s.command(&running{log: &lockedBuffer{}}, "HOLDFAST_POOLER=none")
	worker.Path = buildWorker(t)
	worker.Stderr = nil
	log, err := worker.CombinedOutput()
	if err == nil || !strings.Contains(string(log), "HOLDFAST_POOLER is not set") {
		t.Errorf("the worker ended with %v\n%s", err, log)
	}
}

// sqlLeft is what the pooler's connections to a database, which stay when its
// clients go, still have of them.
const sqlLeft = `
SELECT count(*) FILTER (WHERE usename = $1), count(*) FILTER (WHERE usename = $2),
       count(*) FILTER (WHERE state LIKE 'idle in transaction%'), count(*) FILTER (WHERE query ILIKE 'listen%'),
       (SELECT count(*) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  FROM pg_stat_activity WHERE datname = current_database()`

func (s *stack) expectCleanConnections(t *testing.T, database string, most int) {
	t.Helper()
	var api, worker, inTransaction, listening, locks int
	err := s.installation.Admin(t, database).QueryRow(t.Context(), sqlLeft, postgres.RoleAPI, postgres.RoleWorker).
		Scan(&api, &worker, &inTransaction, &listening, &locks)
	if err != nil {
		t.Fatal(err)
	}
	if api == 0 || api > most || worker > most {
		t.Errorf("%s: the pooler has %d connections of the API and %d of the worker, want at most %d", database, api, worker, most)
	}
	if inTransaction+listening+locks > 0 {
		t.Errorf("%s: %d connections are in a transaction, %d listen, and %d advisory locks are held", database, inTransaction, listening, locks)
	}
}

// expectNoTenant asks each of the pooler's connections, all of them at once, what
// earlier transactions have left there.
func expectNoTenant(t *testing.T, router *postgres.Router, connections int) {
	t.Helper()
	for _, db := range router.Databases() {
		backends := map[int]bool{}
		for range connections { // each transaction keeps its connection from the next
			tx, err := db.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(context.Background())
			var backend, prepared, rows int
			var tenant string
			err = tx.QueryRow(t.Context(), `
				SELECT pg_backend_pid(), coalesce(current_setting('holdfast.tenant', true), ''),
				       (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM tenant_gates)`).
				Scan(&backend, &tenant, &prepared, &rows)
			if err != nil {
				t.Fatal(err)
			}
			backends[backend] = true
			if tenant != "" || rows != 0 || prepared != 0 {
				t.Errorf("%s: the tenant is %q, %d rows are seen, %d statements are prepared", db.Name, tenant, rows, prepared)
			}
		}
		if len(backends) != connections {
			t.Errorf("%s: %d connections were asked, want %d", db.Name, len(backends), connections)
		}
	}
}
