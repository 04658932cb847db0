package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
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
	err := run(t.Context(), s.environ("HOLDFAST_POOLER=none"), io.Discard, io.Discard)
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

// pooledTenant is a tenant with a client at each API.
type pooledTenant struct {
	name    string
	clients []*holdfast.ClientWithResponses
}

const pooledWorld = "arena"

func newPooledTenant(t *testing.T, s *stack, apis []*running, name string) *pooledTenant {
	t.Helper()
	made := s.tenant(t, apis[0], name, tenancy.TenantScopes()...)
	tenant := &pooledTenant{name: name}
	for _, api := range apis {
		tenant.clients = append(tenant.clients, connect(t, api, made.key))
	}
	if _, err := tenant.client(0).CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: pooledWorld}); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.client(0).PutCollectionWithResponse(t.Context(), "orders", holdfast.PutCollectionJSONRequestBody{}); err != nil {
		t.Fatal(err)
	}
	return tenant
}

func (p *pooledTenant) client(n int) *holdfast.ClientWithResponses {
	return p.clients[n%len(p.clients)]
}

// callers are how many do the same at once.
const callers = 8

// race has callers create accounts with one email, each of which has one winner.
func (p *pooledTenant) race(ctx context.Context) error {
	for round := range 4 {
		var won atomic.Int32
		var work errgroup.Group
		for n := range callers {
			work.Go(func() error {
				_, err := p.client(n).CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{
					Handle: fmt.Sprintf("%s-%d-%d", p.name, round, n), Email: ptr(fmt.Sprintf("%d@example.com", round)), EmailVerified: ptr(true),
				})
				switch {
				case err == nil:
					won.Add(1)
				case !holdfast.IsCode(err, "email_taken"):
					return fmt.Errorf("create an account: %w", err)
				}
				return nil
			})
		}
		if err := work.Wait(); err != nil {
			return err
		}
		if won.Load() != 1 {
			return fmt.Errorf("%d callers have %d@example.com", won.Load(), round)
		}
	}
	return nil
}

const appends = 10 // a caller's

func (p *pooledTenant) append(ctx context.Context) error {
	var work errgroup.Group
	for n := range callers {
		work.Go(func() error {
			for i := range appends {
				_, err := p.client(n).AppendEntriesWithResponse(ctx, pooledWorld, nil, holdfast.NewEntries{Entries: []holdfast.NewEntry{
					{EntryID: fmt.Sprintf("%d-%d", n, i), JSON: fmt.Appendf(nil, "%q", p.name)},
				}})
				if err != nil {
					return fmt.Errorf("append: %w", err)
				}
			}
			return nil
		})
	}
	return work.Wait()
}

func (p *pooledTenant) publish(ctx context.Context) error {
	var work errgroup.Group
	for n := range callers {
		work.Go(func() error {
			_, err := p.client(n).PutRecordWithResponse(ctx, "orders", fmt.Sprint(n), &holdfast.PutRecordParams{IfNoneMatch: ptr("*")},
				holdfast.Publication{OperationID: fmt.Sprint("create ", n), Sections: &holdfast.Sections{"items": holdfast.SectionBody{Body: []byte(p.name)}}})
			if err != nil {
				return fmt.Errorf("publish: %w", err)
			}
			return nil
		})
	}
	return work.Wait()
}

// expectItsOwn reads all that the tenant has, and finds what it wrote.
func (p *pooledTenant) expectItsOwn(t *testing.T) {
	t.Helper()
	accounts, err := p.client(0).ListAccountsWithResponse(t.Context(), &holdfast.ListAccountsParams{Limit: ptr(int64(100))})
	if err != nil {
		t.Fatal(err)
	}
	won := map[string]bool{}
	for _, a := range accounts.JSON200.Accounts {
		if !strings.HasPrefix(a.Handle, p.name+"-") {
			t.Errorf("%s has the account %s", p.name, a.Handle)
		}
		won[*a.Email] = true
	}
	want := map[string]bool{"0@example.com": true, "1@example.com": true, "2@example.com": true, "3@example.com": true}
	if diff := cmp.Diff(want, won); diff != "" || len(accounts.JSON200.Accounts) != len(want) {
		t.Errorf("%s: %d accounts, and emails (-want +got)\n%s", p.name, len(accounts.JSON200.Accounts), diff)
	}
	world, err := p.client(1).GetWorldWithResponse(t.Context(), pooledWorld)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := world.JSON200.Position, int64(1+callers*appends); got != want {
		t.Errorf("%s: the journal's head is at %d, want %d", p.name, got, want)
	}
	for n := range callers {
		body, err := holdfast.ReadBody(t.Context(), p.client(n), "orders", fmt.Sprint(n), "items")
		if err != nil || string(body.Bytes) != p.name {
			t.Errorf("%s: record %d has %q (%v)", p.name, n, body.Bytes, err)
		}
	}
}
