package record

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// keeper is a Service over databases of the test's own, with the numbers spread
// over them, and a bucket.
type keeper struct {
	*Service
	in     *testkit.Installation
	router *postgres.Router
	admin  map[string]*pgxpool.Pool // by database, as the superuser
	faults *testkit.StoreFaults     // of its way to the bucket
	scope  tenancy.Scope            // of a principal of a tenant that is open
	format int16                    // of the tenant's collections
	names  *atomic.Int64
}

type testSecrets string

func (k testSecrets) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(k), parts...), string(k)
}

func (k testSecrets) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	return domain.DeriveSecret([]byte(k), parts...), keyID == string(k)
}

// newKeeper is of a tenant whose new collections begin at a format.
func newKeeper(t testing.TB, format int16) *keeper {
	t.Helper()
	in := testkit.Databases(t, 3)
	k := &keeper{in: in, router: in.Router(t, postgres.RoleAPI), admin: map[string]*pgxpool.Pool{}, names: &atomic.Int64{}, format: format}
	for _, db := range k.router.Databases() {
		k.admin[db.Name] = in.Admin(t, db.Name)
	}
	k.faults = testkit.NewStoreFaults(t)
	k.Service = k.serve(t, k.router, Options{})
	k.scope = tenancy.Scope{
		Tenant:    domain.NewID[domain.TenantKind](time.Now()),
		Principal: domain.NewID[domain.PrincipalKind](time.Now()),
		Name:      "tester",
	}
	k.begin(t, format)
	return k
}

// begin lets the tenant's new collections begin at a format.
func (k *keeper) begin(t testing.TB, format int16) {
	t.Helper()
	open := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open", RecordFormat: format}
	if err := tenancy.NewGates(k.router).Set(t.Context(), k.scope.Tenant, open); err != nil {
		t.Fatal(err)
	}
}

func (k *keeper) serve(t testing.TB, router *postgres.Router, options Options) *Service {
	bucket := testkit.OpenBodies(t, k.faults.Through(testkit.BodyStore(t)))
	return New(router, lease.New(router, testSecrets("server"), lease.Options{}), bucket, options)
}

// process is another process on the same databases and bucket.
func (k *keeper) process(t testing.TB, options Options) *keeper {
	other := *k
	other.router = k.in.Router(t, postgres.RoleAPI)
	other.Service = k.serve(t, other.router, options)
	return &other
}

func (k *keeper) collection(t testing.TB, name string) string {
	t.Helper()
	if _, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: name}); err != nil {
		t.Fatalf("make %s: %v", name, err)
	}
	return name
}

// operation is an operation id that nobody used.
func (k *keeper) operation() string { return fmt.Sprint("operation-", k.names.Add(1)) }

// publish creates or changes a record's items under a fence of the record's own.
func (k *keeper) publish(t testing.TB, collection string, p Publication) Receipt {
	t.Helper()
	if p.OperationID == "" {
		p.OperationID = k.operation()
	}
	receipt, err := k.Publish(t.Context(), k.scope, collection, nil, p)
	if err != nil {
		t.Fatalf("publish %s: %v", p.Key, err)
	}
	return receipt
}

func (k *keeper) body(t testing.TB, collection, key, section string) string {
	t.Helper()
	body, err := k.Body(t.Context(), k.scope, collection, key, section)
	if err != nil {
		t.Fatalf("read %s of %s: %v", section, key, err)
	}
	defer body.Close()
	return string(body.Body)
}

func (k *keeper) everywhere(t testing.TB, sql string, args ...any) {
	t.Helper()
	for _, db := range k.router.Databases() {
		if _, err := k.admin[db.Name].Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", db.Name, err)
		}
	}
}

func expectCode(t testing.TB, err error, kind domain.Kind, code string) {
	t.Helper()
	if domain.KindOf(err) != kind || domain.CodeOf(err) != code {
		t.Errorf("got %v, want %v %s", err, kind, code)
	}
}

// inBothFormats runs a test on a collection that keeps its bodies in SQL, and on
// one that keeps them in the store.
func inBothFormats(t *testing.T, test func(t *testing.T, k *keeper)) {
	for name, format := range map[string]int16{"sql": FormatSQL, "store": FormatStore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newKeeper(t, format))
		})
	}
}
