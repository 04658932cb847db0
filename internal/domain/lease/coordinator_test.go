package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// coordinator is a Service over databases of the test's own, with the numbers
// spread over them, so that no decision can reach across two numbers unnoticed.
type coordinator struct {
	*Service
	in     *testkit.Installation
	router *postgres.Router
	admin  map[string]*pgxpool.Pool // by database, as the superuser
	scope  tenancy.Scope            // of a principal of a tenant that is open
}

type testSecrets string

func (k testSecrets) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(k), parts...), string(k)
}

func (k testSecrets) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	return domain.DeriveSecret([]byte(k), parts...), keyID == string(k)
}

func newCoordinator(t testing.TB) *coordinator {
	t.Helper()
	in := testkit.Databases(t, 3)
	router := in.Router(t, postgres.RoleAPI)
	c := &coordinator{Service: New(router, testSecrets("server"), Options{}), in: in, router: router, admin: map[string]*pgxpool.Pool{}}
	for _, db := range router.Databases() {
		c.admin[db.Name] = in.Admin(t, db.Name)
	}
	c.scope = tenancy.Scope{
		Tenant:    domain.NewID[domain.TenantKind](time.Now()),
		Principal: domain.NewID[domain.PrincipalKind](time.Now()),
	}
	open := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open"}
	if err := tenancy.NewGates(router).Set(t.Context(), c.scope.Tenant, open); err != nil {
		t.Fatal(err)
	}
	return c
}

// as is another principal of the tenant, at the same process.
func (c *coordinator) as(name string) *coordinator {
	other := *c
	other.scope.Principal = domain.DeriveID[domain.PrincipalKind]([]byte("principals"), name)
	return &other
}

// process is another process on the same databases.
func (c *coordinator) process(t testing.TB) *coordinator {
	other := *c
	other.router = c.in.Router(t, postgres.RoleAPI)
	other.Service = New(other.router, testSecrets("server"), Options{})
	return &other
}

func (c *coordinator) world(t testing.TB, id string) string {
	t.Helper()
	if _, err := c.CreateWorld(t.Context(), c.scope, id, Policy{AdviseSpill: true}); err != nil {
		t.Fatalf("make %s: %v", id, err)
	}
	return id
}

// take acquires and activates a lease.
func (c *coordinator) take(t testing.TB, world string) Authority {
	t.Helper()
	grant, err := c.Acquire(t.Context(), c.scope, world, Acquire{RequestID: fmt.Sprint("request-", time.Now().UnixNano()), Term: MaxTerm})
	if err != nil {
		t.Fatalf("acquire %s: %v", world, err)
	}
	a := Authority{grant.Epoch, grant.Secret}
	c.activate(t, grant)
	return a
}

func (c *coordinator) activate(t testing.TB, grant Grant) {
	t.Helper()
	page, err := c.Entries(t.Context(), c.scope, grant.World, grant.HandoffPosition-1, 1)
	if err != nil || len(page.Entries) != 1 {
		t.Fatalf("read the handoff: %d entries, %v", len(page.Entries), err)
	}
	a := Authority{grant.Epoch, grant.Secret}
	if _, err := c.Activate(t.Context(), c.scope, grant.World, a, grant.HandoffPosition, page.Entries[0].Hash); err != nil {
		t.Fatalf("activate: %v", err)
	}
}

func (c *coordinator) write(t testing.TB, world string, a *Authority, id, payload string) Receipt {
	t.Helper()
	receipt, err := c.tryWrite(t, world, a, id, payload)
	if err != nil {
		t.Fatalf("append %s: %v", payload, err)
	}
	return receipt
}

func (c *coordinator) tryWrite(t testing.TB, world string, a *Authority, id, payload string) (Receipt, error) {
	return c.Append(t.Context(), c.scope, world, a, Append{Entries: []AppendEntry{{ID: id, Payload: []byte(payload)}}})
}

func (c *coordinator) everywhere(t testing.TB, sql string, args ...any) {
	t.Helper()
	for _, db := range c.router.Databases() {
		if _, err := c.admin[db.Name].Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", db.Name, err)
		}
	}
}

// replay reads a whole journal and gives what it comes to. The head must be just
// that.
func (c *coordinator) replay(t testing.TB, world string) (journal.State, []journal.Entry) {
	t.Helper()
	state := journal.Begin(c.scope.Tenant, world)
	var all []journal.Entry
	for {
		page, err := c.Entries(t.Context(), c.scope, world, state.Position, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			if err := state.Apply(e); err != nil {
				t.Fatalf("replay %s: %v", world, err)
			}
		}
		all = append(all, page.Entries...)
		if !page.More {
			break
		}
	}
	h, _, err := c.readHead(t.Context(), c.scope.Tenant, world)
	if err != nil {
		t.Fatal(err)
	}
	if h.State != state {
		t.Errorf("the head is not what the journal comes to:\n%+v\n%+v", h.State, state)
	}
	return state, all
}

func expectCode(t testing.TB, err error, kind domain.Kind, code string) {
	t.Helper()
	if domain.KindOf(err) != kind || domain.CodeOf(err) != code {
		t.Errorf("got %v, want %v %s", err, kind, code)
	}
}

func kinds(all []journal.Entry) (list []journal.Kind) {
	for _, e := range all {
		list = append(list, e.Kind)
	}
	return list
}
