package restore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// installation is one over three data databases, with a tenant that has something
// everywhere.
type installation struct {
	databases *testkit.Installation
	router    *postgres.Router // as the API has it
	owner     *postgres.Router
	store     *tenancy.Store
	tenant    tenancy.Tenant
	scope     tenancy.Scope

	directory *identity.Service
	worlds    *lease.Service
	records   *record.Service
}

type secrets string

func (k secrets) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(k), parts...), string(k)
}

func (k secrets) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	return domain.DeriveSecret([]byte(k), parts...), keyID == string(k)
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	return onDatabases(t, testkit.Databases(t, 3))
}

func onDatabases(t *testing.T, databases *testkit.Installation) *installation {
	t.Helper()
	in := (&installation{}).with(t, databases)
	in.tenant = in.newTenant(t, "acme")
	in.scope = tenancy.Scope{
		Tenant: in.tenant.ID, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "tester",
		Settings: tenancy.Settings{HandlePolicy: "ascii", IDKey: []byte("a key of the tenant's own")},
	}
	return in
}

// with is the same installation on other databases.
func (in *installation) with(t *testing.T, databases *testkit.Installation) *installation {
	t.Helper()
	other := &installation{databases: databases, tenant: in.tenant, scope: in.scope}
	other.router = databases.Router(t, postgres.RoleAPI)
	other.owner = databases.Router(t, postgres.RoleOwner)
	keys, err := tenancy.NewServerKeys(tenancy.ServerKey{ID: "k1", Secret: [32]byte{1}})
	must(t, err)
	other.store = tenancy.NewStore(other.router.Control(), tenancy.NewGates(other.router), keys, time.Now)
	other.directory = identity.New(other.router, secrets("server"), identity.Options{})
	other.worlds = lease.New(other.router, secrets("server"), lease.Options{})
	other.records = record.New(other.router, other.worlds, nil, record.Options{})
	return other
}

// backup copies a database as it is.
func (in *installation) backup(t *testing.T, name string) testkit.Backup {
	t.Helper()
	defer in.reconnect()
	return in.databases.Backup(t, name)
}

func (in *installation) putBack(t *testing.T, b testkit.Backup) {
	t.Helper()
	defer in.reconnect()
	b.PutBack(t)
}

// reconnect drops the connections that were cut.
func (in *installation) reconnect() {
	for _, router := range []*postgres.Router{in.router, in.owner} {
		router.Control().Reset()
		for _, db := range router.Databases() {
			db.Pool.Reset()
		}
	}
}

var operator = tenancy.Scope{Tenant: tenancy.Operators, Scopes: []string{tenancy.OperatorTenants}, Name: "grace"}

func (in *installation) newTenant(t *testing.T, name string) tenancy.Tenant {
	t.Helper()
	tenant, _, err := in.store.CreateTenant(t.Context(), operator, tenancy.NewTenant{Name: name, HandlePolicy: "ascii"})
	must(t, err)
	return tenant
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// on gives a name that begins so and whose number stands on the database.
func (in *installation) on(database, begins, ends string) string {
	for i := 0; ; i++ {
		if name := fmt.Sprintf("%s%d%s", begins, i, ends); in.router.Database(domain.NumberOf(name)).Name == database {
			return name
		}
	}
}

// account makes one whose own bucket stands on a database.
func (in *installation) account(t *testing.T, home, handle, email string) identity.Account {
	t.Helper()
	for i := 0; ; i++ {
		req := identity.CreateAccount{Handle: handle, IdempotencyKey: fmt.Sprintf("%s-%d", handle, i), EmailVerified: email != ""}
		if email != "" {
			req.Email = &email
		}
		id := domain.DeriveID[domain.AccountKind](in.scope.Settings.IDKey, "account", in.scope.Principal.String(), req.IdempotencyKey)
		if in.router.Database(domain.NumberOf(id.String())).Name != home {
			continue
		}
		made, err := in.directory.Create(t.Context(), in.scope, req)
		must(t, err)
		if got := in.router.Database(domain.NumberOf(made.Account.ID.String())).Name; got != home {
			t.Fatalf("the account stands on %s, want %s", got, home)
		}
		return made.Account
	}
}

// publish writes one section of a record.
func (in *installation) publish(t *testing.T, collection, key, body string, revision int64) record.Receipt {
	t.Helper()
	p := record.Publication{Key: key, OperationID: key + "-" + body, Bodies: map[string][]byte{"items": []byte(body)},
		Expect: record.Expectation{Revision: revision, Absent: revision == 0}}
	receipt, err := in.records.Publish(t.Context(), in.scope, collection, nil, p)
	must(t, err)
	return receipt
}

// node acquires a world and activates its lease.
func (in *installation) node(t *testing.T, world string) lease.Authority {
	t.Helper()
	grant, err := in.worlds.Acquire(t.Context(), in.scope, world, lease.Acquire{RequestID: fmt.Sprint(time.Now().UnixNano()), Term: time.Minute})
	must(t, err)
	page, err := in.worlds.Entries(t.Context(), in.scope, world, grant.HandoffPosition-1, 1)
	must(t, err)
	authority := lease.Authority{Epoch: grant.Epoch, Secret: grant.Secret}
	_, err = in.worlds.Activate(t.Context(), in.scope, world, authority, grant.HandoffPosition, page.Entries[0].Hash)
	must(t, err)
	return authority
}

func (in *installation) append(ctx context.Context, world string, a *lease.Authority, text string) error {
	_, err := in.worlds.Append(ctx, in.scope, world, a, lease.Append{Entries: []lease.AppendEntry{{Payload: []byte(text)}}})
	return err
}

// checks give what the three checks find.
func (in *installation) checks(t *testing.T) (found []string) {
	t.Helper()
	_, err := in.directory.Check(t.Context(), in.tenant.ID, func(v identity.Violation) error {
		found = append(found, fmt.Sprintf("identity: %s on %s: %s", v.Kind, v.Database, v.Detail))
		return nil
	})
	must(t, err)
	_, err = in.worlds.Check(t.Context(), in.tenant.ID, nil, func(v lease.Violation) error {
		found = append(found, fmt.Sprintf("lease: %s of %s: %s", v.Kind, v.World, v.Detail))
		return nil
	})
	must(t, err)
	_, err = in.records.Check(t.Context(), in.tenant.ID, record.Checking{Found: func(v record.Violation) error {
		found = append(found, fmt.Sprintf("record: %s of %s: %s", v.Kind, v.Collection, v.Detail))
		return nil
	}})
	must(t, err)
	return found
}

// told is what a reconciliation tells.
type told struct {
	decisions []restore.Decision
	notes     []restore.Note
	tenants   []restore.Tenant
}

func (*told) Progress(string) {}

func (l *told) Decide(d restore.Decision) error { l.decisions = append(l.decisions, d); return nil }

func (l *told) Note(n restore.Note) error { l.notes = append(l.notes, n); return nil }

func (l *told) Tenant(t restore.Tenant) error { l.tenants = append(l.tenants, t); return nil }

func (in *installation) reconcile(t *testing.T, req restore.Request) (restore.Outcome, *told) {
	t.Helper()
	l := &told{}
	done, err := restore.New(in.owner, nil).Reconcile(t.Context(), req, l)
	must(t, err)
	return done, l
}
