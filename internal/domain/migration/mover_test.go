package migration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// moving is a Service over databases of the test's own, with the numbers spread
// over them, a bucket, and a tenant whose collections keep their bodies in SQL.
type moving struct {
	*Service // the worker's
	api      *Service
	in       *testkit.Installation
	admin    map[string]*pgxpool.Pool
	faults   *testkit.StoreFaults
	scope    tenancy.Scope
	plan     Migration
}

type testSecrets string

func (k testSecrets) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(k), parts...), string(k)
}

func (k testSecrets) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	return domain.DeriveSecret([]byte(k), parts...), keyID == string(k)
}

func newMoving(t testing.TB) *moving {
	t.Helper()
	m := &moving{in: testkit.Databases(t, 3), admin: map[string]*pgxpool.Pool{}, faults: testkit.NewStoreFaults(t)}
	m.Service, m.api = m.process(t, postgres.RoleWorker, "build-1"), m.process(t, postgres.RoleAPI, "build-1")
	for _, db := range m.router.Databases() {
		m.admin[db.Name] = m.in.Admin(t, db.Name)
	}
	tenant, _, err := m.api.control.CreateTenant(t.Context(), operator("ada"), tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii"})
	if err != nil {
		t.Fatal(err)
	}
	m.scope = tenancy.Scope{Tenant: tenant.ID, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "producer"}
	m.plan = Migration{ID: domain.NewID[domain.MigrationKind](time.Now()), Tenant: m.scope.Tenant, Kind: RecordBodies, PlanHash: Hash{1}, Revision: 1}
	return m
}

// operator is one who may do everything.
func operator(name string) tenancy.Scope {
	return tenancy.Scope{
		Tenant: tenancy.Operators, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: name, Scopes: tenancy.OperatorScopes(),
	}
}

// process is a process of a build on the same databases and bucket.
func (m *moving) process(t testing.TB, role, build string) *Service {
	router := m.in.Router(t, role)
	bucket := testkit.OpenBodies(t, m.faults.Through(testkit.BodyStore(t)))
	leases := lease.New(router, testSecrets("server"), lease.Options{})
	records := record.New(router, leases, bucket, record.Options{})
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
	return New(router, store, records, Options{Build: build, IDKey: []byte("ids")})
}

// fill makes a collection with so many records of a few sections, some of them
// tombstones, some empty, some in chunks.
func (m *moving) fill(t testing.TB, name string, records int) record.Collection {
	t.Helper()
	c, _, err := m.api.records.CreateCollection(t.Context(), m.scope, record.NewCollection{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		p := record.Publication{
			Key: fmt.Sprintf("key-%04d", i), OperationID: fmt.Sprint("fill-", i), Expect: record.Expectation{Absent: true},
			Bodies: map[string][]byte{"items": fmt.Appendf(nil, "items of %d of %s", i%7, name)},
		}
		switch i % 5 {
		case 1:
			p.Bodies["plans"] = nil
		case 2:
			p.Bodies["decision-packets"] = make([]byte, 600<<10)
		}
		m.publish(t, name, p)
		if i%5 == 3 {
			m.publish(t, name, record.Publication{
				Key: p.Key, OperationID: fmt.Sprint("close-", i), Expect: record.Expectation{Revision: 1},
				Bodies: map[string][]byte{"closed": []byte("closed")},
			})
		}
	}
	return c
}

func (m *moving) publish(t testing.TB, name string, p record.Publication) record.Receipt {
	t.Helper()
	receipt, err := m.api.records.Publish(t.Context(), m.scope, name, nil, p)
	if err != nil {
		t.Fatalf("publish %s: %v", p.Key, err)
	}
	return receipt
}

// shown is all that readers see of a collection, bodies too.
func (m *moving) shown(t testing.TB, name string) (all []string) {
	t.Helper()
	for after, more := int64(0), true; more; {
		page, err := m.api.records.Export(t.Context(), m.scope, name, record.ExportRequest{After: after, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Records {
			if e.Live && record.DigestOf(e.Body) != e.Digest {
				t.Errorf("%s of %s isn't its digest's body", e.Name, e.Key)
			}
			all = append(all, fmt.Sprintf("%d %s at %d: %s live %v %v %d by %s at %v", e.Sequence, e.Key, e.Revision, e.Name, e.Live, e.Digest, e.Length, e.Producer, e.UpdatedAt))
		}
		page.Close()
		after, more = page.Next, page.More
	}
	return all
}

// unlimited is a budget without an end.
func unlimited(context.Context) (record.Caps, bool) {
	return record.Caps{Inspected: 64, Records: 4, Bytes: 8 << 20, InFlight: 4}, true
}

// prepare captures one pass behind a place and makes it ready, as a line does.
func (m *mover) prepare(ctx context.Context, after record.Cursor) *prepared {
	l := &line{m: *m, uncommitted: map[string]bool{}}
	p := l.capture(ctx, after)
	if p.err == nil {
		p.Prepared, p.err = m.records.Prepare(ctx, p.capture, record.NewPipelines(m.caps.InFlight))
	}
	return p
}
