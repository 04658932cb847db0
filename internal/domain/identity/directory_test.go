package identity

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// directory is a Service over three databases of the test's own, with the
// numbers spread over them, so that no decision can reach across two numbers
// unnoticed.
type directory struct {
	*Service
	in     *testkit.Installation
	router *postgres.Router
	admin  map[string]*pgxpool.Pool // by database, as the superuser
	scope  tenancy.Scope            // of a tenant that is open
}

func newDirectory(t testing.TB, options Options) *directory {
	t.Helper()
	return newDirectoryOn(t, 3, options)
}

// newDirectoryOn spreads the numbers over some databases.
func newDirectoryOn(t testing.TB, databases int, options Options) *directory {
	t.Helper()
	in := testkit.Databases(t, databases)
	router := in.Router(t, postgres.RoleAPI)
	d := &directory{Service: New(router, testSecrets("server"), toTheSteps(options)), in: in, router: router, admin: map[string]*pgxpool.Pool{}}
	for _, db := range router.Databases() {
		d.admin[db.Name] = in.Admin(t, db.Name)
	}
	d.scope = d.newTenant(t, "ascii")
	return d
}

// newTenant makes a tenant whose gates are open and returns the scope of a
// principal of it.
func (d *directory) newTenant(t testing.TB, policy string) tenancy.Scope {
	t.Helper()
	scope := tenancy.Scope{
		Tenant:    domain.NewID[domain.TenantKind](time.Now()),
		Principal: domain.NewID[domain.PrincipalKind](time.Now()),
		Settings:  tenancy.Settings{HandlePolicy: policy, IDKey: []byte("a key of the tenant's own")},
	}
	d.setGate(t, scope.Tenant, tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open"})
	return scope
}

func (d *directory) setGate(t testing.TB, tenant domain.TenantID, state tenancy.GateState) {
	t.Helper()
	if err := tenancy.NewGates(d.router).Set(t.Context(), tenant, state); err != nil {
		t.Fatal(err)
	}
}

// with is another process on the same databases.
func (d *directory) with(options Options) *directory {
	other := *d
	other.Service = New(d.router, testSecrets("server"), toTheSteps(options))
	return &other
}

// toTheSteps keeps the steps apart for a test that stops between them.
func toTheSteps(options Options) Options {
	options.Stepwise = options.Stepwise || options.Faults != nil
	return options
}

// create makes an account with a verified email; "" for none.
func (d *directory) create(t testing.TB, handle, email string) Account {
	t.Helper()
	created, err := d.tryCreate(t.Context(), handle, email)
	if err != nil {
		t.Fatalf("create %s %s: %v", handle, email, err)
	}
	return created.Account
}

func (d *directory) tryCreate(ctx context.Context, handle, email string) (Created, error) {
	req := CreateAccount{Handle: handle, EmailVerified: true}
	if email != "" {
		req.Email = &email
	}
	return d.Create(ctx, d.scope, req)
}

// changeEmail begins a change of an account's address and confirms it.
func (d *directory) changeEmail(t testing.TB, account domain.AccountID, email string) Account {
	t.Helper()
	a, err := d.tryChangeEmail(t.Context(), account, email)
	if err != nil {
		t.Fatalf("change the address to %s: %v", email, err)
	}
	return a
}

func (d *directory) tryChangeEmail(ctx context.Context, account domain.AccountID, email string) (Account, error) {
	begun, err := d.BeginEmailChange(ctx, d.scope, account, BeginEmailChange{Email: email})
	if err != nil {
		return Account{}, err
	}
	return d.ConfirmEmailChange(ctx, d.scope, account, begun.ID, begun.Code)
}

// expire brings every prepared operation's deadline into the past, so that a
// test need not wait for it.
func (d *directory) expire(t testing.TB) {
	t.Helper()
	d.everywhere(t, `UPDATE operations SET deadline = deadline - interval '1 hour'`)
}

// everywhere runs a statement on every data database, as the superuser.
func (d *directory) everywhere(t testing.TB, sql string, args ...any) {
	t.Helper()
	for _, db := range d.router.Databases() {
		if _, err := d.admin[db.Name].Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", db.Name, err)
		}
	}
}

// collect reads rows of every data database, as the superuser.
func collect[T any](t testing.TB, d *directory, sql string, scan func(pgx.CollectableRow) (T, error)) []T {
	t.Helper()
	var all []T
	for _, db := range d.router.Databases() {
		rows, _ := d.admin[db.Name].Query(t.Context(), sql)
		some, err := pgx.CollectRows(rows, scan)
		if err != nil {
			t.Fatalf("%s: %v", db.Name, err)
		}
		all = append(all, some...)
	}
	return all
}

// sweepAll runs every sweep over every number until the passes are done.
func (d *directory) sweepAll(t testing.TB) (recovered int) {
	t.Helper()
	worker := d.in.Router(t, postgres.RoleWorker)
	s := New(worker, testSecrets("server"), Options{})
	for _, db := range worker.Databases() {
		for _, n := range db.Numbers {
			for _, family := range []domain.Family{domain.FamilyAccount, domain.FamilyDevice} {
				recovered += sweepPass(t, func() (SweepStep, error) {
					return s.SweepOperations(t.Context(), db.Name, family, n, 10)
				})
			}
			for _, family := range []domain.Family{domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDeviceCode} {
				recovered += sweepPass(t, func() (SweepStep, error) {
					return s.SweepClaims(t.Context(), db.Name, family, n, 10)
				})
			}
		}
	}
	return recovered
}

func sweepPass(t testing.TB, step func() (SweepStep, error)) (recovered int) {
	t.Helper()
	for {
		did, err := step()
		if err != nil {
			t.Fatal(err)
		}
		recovered += did.Recovered
		if did.Done {
			return recovered
		}
	}
}

// testSecrets derives from one key.
type testSecrets string

func (s testSecrets) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(s), parts...), "test"
}

func (s testSecrets) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	return domain.DeriveSecret([]byte(s), parts...), keyID == "test"
}

func expectCode(t testing.TB, err error, kind domain.Kind, code string) {
	t.Helper()
	if domain.KindOf(err) != kind || domain.CodeOf(err) != code {
		t.Errorf("got %v, want %v %s", err, kind, code)
	}
}

func numbered(format string, n int) string { return fmt.Sprintf(format, n) }
