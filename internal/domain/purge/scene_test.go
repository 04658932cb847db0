package purge

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// clock is one that tests move. All processes of a test read the same.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// scene is an installation in which tenants are deleted. Every table has rows of
// each: the databases say which tables there are, so a new one is filled too.
type scene struct {
	in      *testkit.Installation
	control *pgxpool.Pool // as the superuser, as all of admin
	admin   map[string]*pgxpool.Pool
	store   *tenancy.Store // the API's
	clock   *clock
	bucket  *objectstore.Bucket
	tables  map[string][]string // with a tenant's rows, by database
	inserts map[string]string   // of rows of a table
	data    []*postgres.Database
	made    int
}

var ada, grace = operator("ada"), operator("grace")

func operator(name string) tenancy.Scope {
	return tenancy.Scope{Principal: domain.RandomID[domain.PrincipalKind](), Name: name, Scopes: tenancy.OperatorScopes()}
}

func newScene(t testing.TB, databases int) *scene {
	t.Helper()
	s := &scene{
		in: testkit.Databases(t, databases), admin: map[string]*pgxpool.Pool{}, tables: map[string][]string{}, inserts: map[string]string{},
		clock: &clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}, bucket: testkit.OpenBodies(t, testkit.BodyStore(t)),
	}
	s.control = s.in.Admin(t, "control")
	s.admin["control"] = s.control
	s.tables["control"] = column[string](t, s.control, `SELECT purge_control_tables()`)
	for _, location := range s.in.Settings(postgres.RoleAPI).Data {
		s.admin[location.Name] = s.in.Admin(t, location.Name)
		s.tables[location.Name] = column[string](t, s.admin[location.Name], `SELECT purge_tables()`)
	}
	for name, admin := range s.admin {
		for _, table := range s.tables[name] {
			loosen(t, admin, table)
			s.inserts[table] = column[string](t, admin, sqlRow, table)[0]
		}
	}
	router := s.in.Router(t, postgres.RoleAPI)
	s.store, s.data = s.newStore(router), router.Databases()
	return s
}

func (s *scene) newStore(router *postgres.Router) *tenancy.Store {
	return tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, s.clock.Now)
}

// worker is a process that purges.
func (s *scene) worker(t testing.TB) *Service {
	t.Helper()
	return s.service(s.in.Router(t, postgres.RoleWorker), s.bucket)
}

func (s *scene) service(router *postgres.Router, objects Objects) *Service {
	return New(router, s.newStore(router), objects, Options{Now: s.clock.Now})
}

// loosen drops a table's checks, which are about meaning.
func loosen(t testing.TB, admin *pgxpool.Pool, table string) {
	t.Helper()
	for _, drop := range column[string](t, admin, `
SELECT format('ALTER TABLE %I DROP CONSTRAINT %I', $1::text, n.conname)
  FROM pg_constraint n WHERE n.conrelid = $1::text::regclass AND n.contype = 'c'`, table) {
		exec(t, admin, drop)
	}
}

// sqlRow writes the statement that inserts n rows made from the columns' types.
const sqlRow = `
SELECT format('INSERT INTO %I (%s) SELECT %s FROM generate_series(1, $3::int) i WHERE $1::uuid IS NOT NULL AND $2::smallint IS NOT NULL',
              $1::text, string_agg(quote_ident(a.attname), ', '),
              string_agg(CASE WHEN a.attname = 'tenant_id' THEN '$1::uuid'
                              WHEN a.attname = 'number' THEN '$2::smallint'
                              WHEN a.atttypid = 'uuid'::regtype THEN 'gen_random_uuid()'
                              WHEN a.atttypid = 'timestamptz'::regtype THEN 'now()'
                              WHEN a.atttypid = 'boolean'::regtype THEN 'true'
                              WHEN a.atttypid = 'interval'::regtype THEN $q$interval '1 hour'$q$
                              WHEN a.atttypid = 'json'::regtype THEN $q$'{}'$q$
                              WHEN a.attndims > 0 THEN $q$'{}'$q$
                              WHEN a.atttypid = 'bytea'::regtype THEN $q$sha256(random()::text::bytea)$q$
                              WHEN a.atttypid = 'text'::regtype THEN 'i::text'
                              ELSE 'i' END, ', '))
  FROM pg_attribute a
 WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped`

// filling is so many rows of a table in a number.
type filling struct {
	table  string
	number domain.Number
	rows   int
}

// fill gives the tenant rows. Where it can have one at most, it has that one.
func (s *scene) fill(t testing.TB, database string, tenant domain.TenantID, fillings ...filling) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), s.admin[database], func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SET LOCAL session_replication_role = replica`) // no foreign keys
		for _, f := range fillings {
			batch.Queue(s.inserts[f.table]+" ON CONFLICT DO NOTHING", tenant, int16(f.number), f.rows)
		}
		return tx.SendBatch(t.Context(), batch).Close()
	})
	if err != nil {
		t.Fatalf("fill %s: %v", database, err)
	}
}

// rowsOf counts the tenant's rows by table, over all databases.
func (s *scene) rowsOf(t testing.TB, tenant domain.TenantID) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for name, admin := range s.admin {
		var counts []string
		for _, table := range s.tables[name] {
			counts = append(counts, fmt.Sprintf(`SELECT '%[1]s', count(*) FROM %[1]s WHERE tenant_id = $1 HAVING count(*) > 0`, table))
		}
		rows, _ := admin.Query(t.Context(), strings.Join(counts, " UNION ALL "), tenant)
		var table string
		var n int64
		if _, err := pgx.ForEachRow(rows, []any{&table, &n}, func() error { all[table] += n; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// tenant has rows in every table, and objects and jobs.
func (s *scene) tenant(t testing.TB) domain.TenantID {
	t.Helper()
	s.made++
	made, _, err := s.store.CreateTenant(t.Context(), ada, tenancy.NewTenant{Name: fmt.Sprint("t", s.made), HandlePolicy: "ascii"})
	if err != nil {
		t.Fatal(err)
	}
	var control []filling
	for _, table := range s.tables["control"] {
		control = append(control, filling{table, 0, 3})
	}
	s.fill(t, "control", made.ID, control...)
	for _, db := range s.data {
		several := []filling{{"journal", db.Numbers[len(db.Numbers)-1], passRows + 1}}
		for i, table := range s.tables[db.Name] {
			several = append(several, filling{table, db.Numbers[i%3], 4})
		}
		s.fill(t, db.Name, made.ID, several...)
	}
	s.put(t, made.ID, "a", "b", "c")
	for _, state := range []string{"available", "completed"} {
		s.job(t, made.ID, state)
	}
	return made.ID
}

func (s *scene) put(t testing.TB, tenant domain.TenantID, keys ...string) {
	t.Helper()
	for _, key := range keys {
		body := []byte(key)
		if _, err := s.bucket.Ensure(t.Context(), prefix(tenant)+key, body, sum(body), false); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, key := range keys {
			_ = s.bucket.Delete(context.Background(), prefix(tenant)+key)
		}
	})
}

func (s *scene) job(t testing.TB, tenant domain.TenantID, state string) {
	t.Helper()
	finished := "NULL"
	if state == "completed" {
		finished = "now()"
	}
	exec(t, s.control, `INSERT INTO river_job (kind, args, state, max_attempts, finalized_at) VALUES
		('migration_run', jsonb_build_object('tenant', $1::text), '`+state+`', 1, `+finished+`)`, tenant.String())
}

func (s *scene) jobsOf(t testing.TB, tenant domain.TenantID) int64 {
	t.Helper()
	return column[int64](t, s.control, `SELECT count(*) FROM river_job WHERE args::text LIKE '%' || $1::text || '%'`, tenant.String())[0]
}

func (s *scene) objectsOf(t testing.TB, tenant domain.TenantID) string {
	t.Helper()
	objects, _, err := s.bucket.List(t.Context(), prefix(tenant), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range objects {
		keys = append(keys, strings.TrimPrefix(o.Key, prefix(tenant)))
	}
	return strings.Join(keys, " ")
}

// doom has the tenant's deletion asked for and approved.
func (s *scene) doom(t testing.TB, tenant domain.TenantID) {
	t.Helper()
	now, err := s.store.Tenant(t.Context(), ada, tenant)
	var asked tenancy.Deletion
	if err == nil {
		asked, err = s.store.AskDeletion(t.Context(), ada, tenant, now.Revision)
	}
	if err == nil {
		_, err = s.store.ApproveDeletion(t.Context(), grace, tenant, asked.Tenant.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// doomed is a tenant whose grace is over.
func (s *scene) doomed(t testing.TB) domain.TenantID {
	t.Helper()
	tenant := s.tenant(t)
	s.doom(t, tenant)
	s.clock.advance(tenancy.DeletionGrace)
	return tenant
}

// finish goes on until the purge is done, and past its waits.
func (s *scene) finish(t testing.TB, w *Service, tenant domain.TenantID) {
	t.Helper()
	for range 5000 {
		more, err := w.Step(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case more:
		case s.progress(t, tenant).Step == stepDone:
			return
		default:
			s.clock.advance(DefaultSettle)
		}
	}
	t.Fatalf("the purge doesn't end: %+v", s.progress(t, tenant))
}

func (s *scene) progress(t testing.TB, tenant domain.TenantID) tenancy.PurgeProgress {
	t.Helper()
	d, err := s.store.Deletion(t.Context(), ada, tenant)
	if err != nil {
		t.Fatal(err)
	}
	if d.Purge == nil {
		return tenancy.PurgeProgress{}
	}
	return *d.Purge
}

// expectGone looks for everything of the tenant, and at what its tombstone tells of.
func (s *scene) expectGone(t testing.TB, tenant domain.TenantID, had map[string]int64, objects, jobs int64) {
	t.Helper()
	if left := s.rowsOf(t, tenant); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if left, jobs := s.objectsOf(t, tenant), s.jobsOf(t, tenant); left != "" || jobs != 0 {
		t.Errorf("left are the objects %q and %d jobs", left, jobs)
	}
	p := s.progress(t, tenant)
	counted := map[string]int64{}
	for _, some := range []map[string]int64{p.ControlRows, p.Rows} {
		for table, n := range some {
			counted[table] += n
		}
	}
	if diff := cmp.Diff(had, counted); diff != "" {
		t.Errorf("the tombstone's rows (-had +counted):\n%s", diff)
	}
	if p.Objects != objects || p.Jobs != jobs || p.PurgedAt.IsZero() {
		t.Errorf("the tombstone is %+v, want %d objects and %d jobs", p, objects, jobs)
	}
	stone, err := s.store.Tenant(t.Context(), ada, tenant)
	if err != nil || stone.State != tenancy.TenantPurged || stone.Name != "purged-"+tenant.String() {
		t.Errorf("the tenant is %+v, %v", stone, err)
	}
	for name, admin := range s.admin {
		if name == "control" {
			continue
		}
		if gates := column[string](t, admin, `SELECT state FROM tenant_gates WHERE tenant_id = $1`, tenant); len(gates) != 1 || gates[0] != "closed" {
			t.Errorf("%s has the gate %v", name, gates)
		}
		if n := column[int64](t, admin, `SELECT count(*) FROM purge_counts WHERE tenant_id = $1`, tenant)[0]; n != 0 {
			t.Errorf("%s still counts %d", name, n)
		}
	}
}

func column[T any](t testing.TB, pool *pgxpool.Pool, sql string, args ...any) []T {
	t.Helper()
	rows, _ := pool.Query(t.Context(), sql, args...)
	all, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}

func exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func expectCode(t testing.TB, err error, kind domain.Kind, code string) {
	t.Helper()
	if domain.KindOf(err) != kind || domain.CodeOf(err) != code {
		t.Errorf("error = %v, want %v %s", err, kind, code)
	}
}
