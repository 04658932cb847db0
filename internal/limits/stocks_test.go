package limits_test

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// installation is all that stocks are of: a tenant, the three domains as an API
// process has them, and as the worker has them, with its counter.
type installation struct {
	store     *limits.Store
	operator  tenancy.Scope
	scope     tenancy.Scope // of the tenant's principal
	databases []string
	limiter   *limits.Limiter
	directory *identity.Service
	worlds    *lease.Service
	records   *record.Service
	counter   *limits.Counter
	tenants   *tenancy.Store
}

type secrets string

func (s secrets) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(s), parts...), string(s)
}

func (s secrets) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	return domain.DeriveSecret([]byte(s), parts...), keyID == string(s)
}

func install(t *testing.T) *installation {
	t.Helper()
	databases := testkit.Databases(t, 2)
	router, worker := databases.Router(t, postgres.RoleAPI), databases.Router(t, postgres.RoleWorker)
	var secret [32]byte
	rand.Read(secret[:])
	keys, err := tenancy.NewServerKeys(tenancy.ServerKey{ID: "k1", Secret: secret})
	must(t, err)
	in := &installation{operator: tenancy.Scope{Name: "ada", Scopes: []string{tenancy.OperatorTenants}}}
	in.tenants = tenancy.NewStore(router.Control(), tenancy.NewGates(router), keys, time.Now)
	tenant, _, err := in.tenants.CreateTenant(t.Context(), in.operator, tenancy.NewTenant{Name: "acme", HandlePolicy: "ascii"})
	must(t, err)
	in.scope = tenancy.Scope{
		Tenant: tenant.ID, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "backend",
		Settings: tenancy.Settings{HandlePolicy: "ascii", IDKey: secret[:]},
	}
	for _, db := range router.Databases() {
		in.databases = append(in.databases, db.Name)
	}
	in.store = limits.NewStore(in.tenants, time.Now)
	in.limiter, err = limits.NewLimiter(in.store, in.databases, slog.New(slog.DiscardHandler))
	must(t, err)
	in.directory = identity.New(router, secrets("k1"), identity.Options{Quotas: in.limiter})
	in.worlds = lease.New(router, secrets("k1"), lease.Options{Quotas: in.limiter})
	in.records = record.New(router, in.worlds, nil, record.Options{Quotas: in.limiter})

	leases := lease.New(worker, nil, lease.Options{})
	in.counter = limits.NewCounter(worker.Control(), identity.New(worker, nil, identity.Options{}), leases, record.New(worker, leases, nil, record.Options{}))
	return in
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// set sets limits before the process has looked at them.
func (in *installation) set(t *testing.T, want limits.Set) {
	t.Helper()
	now, err := in.store.Limits(t.Context(), in.operator, in.scope.Tenant)
	must(t, err)
	want.Revision = now.Revision
	_, err = in.store.SetLimits(t.Context(), in.operator, in.scope.Tenant, want)
	must(t, err)
}

// count does what the worker's job does, and gives what it found.
func (in *installation) count(t *testing.T) limits.Usage {
	t.Helper()
	for _, database := range in.databases {
		must(t, in.counter.Count(t.Context(), database, in.scope.Tenant))
	}
	counted, err := in.store.Usage(t.Context(), in.operator, in.scope.Tenant, in.databases)
	must(t, err)
	if counted.At.IsZero() {
		t.Error("nothing says when it was counted")
	}
	return counted.Usage
}

func (in *installation) account(t *testing.T, handle, key string) (identity.Created, error) {
	return in.directory.Create(t.Context(), in.scope, identity.CreateAccount{Handle: handle, IdempotencyKey: key})
}

func (in *installation) publish(t *testing.T, operation, key string, size int, revision int64) (record.Receipt, error) {
	p := record.Publication{Key: key, OperationID: operation, Expect: record.Expectation{Absent: revision == 0, Revision: revision},
		Bodies: map[string][]byte{"items": make([]byte, size)}}
	return in.records.Publish(t.Context(), in.scope, "orders", nil, p)
}

func full(t *testing.T, what string, err error) {
	t.Helper()
	if domain.CodeOf(err) != "quota_exceeded" || domain.KindOf(err) != domain.KindForbidden {
		t.Errorf("%s: %v, want quota_exceeded", what, err)
	}
}

func two() *int64 { n := int64(2); return &n }

func TestQuota_Accounts_TheLastThatFitsIsMade_AndARetryOfItIsAnswered(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.set(t, limits.Set{Accounts: two()})
	for i := range 2 {
		_, err := in.account(t, fmt.Sprint("user", i), fmt.Sprint("key", i))
		must(t, err)
	}
	again, err := in.account(t, "user1", "key1")
	if err != nil || !again.Replayed {
		t.Errorf("the retry of the last: replayed %t, %v", again.Replayed, err)
	}
	_, err = in.account(t, "user2", "key2")
	full(t, "one too many", err)
	if _, err := in.directory.LookupHandle(t.Context(), in.scope, "user2"); domain.KindOf(err) != domain.KindNotFound {
		t.Errorf("what was refused is there: %v", err)
	}
	if got := in.count(t); got.Accounts != 2 {
		t.Errorf("counted %d accounts, want 2", got.Accounts)
	}
}

func TestQuota_Devices_Worlds(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.set(t, limits.Set{Devices: two(), Worlds: two()})
	for i := range 2 {
		_, err := in.directory.CreateDevice(t.Context(), in.scope, identity.CreateDevice{IdempotencyKey: fmt.Sprint("key", i)})
		must(t, err)
		_, err = in.worlds.CreateWorld(t.Context(), in.scope, fmt.Sprint("north-", i), lease.Policy{})
		must(t, err)
	}
	if again, err := in.directory.CreateDevice(t.Context(), in.scope, identity.CreateDevice{IdempotencyKey: "key1"}); err != nil || !again.Replayed {
		t.Errorf("the retry of the last device: replayed %t, %v", again.Replayed, err)
	}
	_, err := in.directory.CreateDevice(t.Context(), in.scope, identity.CreateDevice{})
	full(t, "a device too many", err)
	if _, err := in.worlds.CreateWorld(t.Context(), in.scope, "north-1", lease.Policy{}); domain.CodeOf(err) != "world_exists" {
		t.Errorf("a world that is there: %v, want world_exists: its answer may have been lost", err)
	}
	_, err = in.worlds.CreateWorld(t.Context(), in.scope, "north-2", lease.Policy{})
	full(t, "a world too many", err)
	must(t, in.worlds.RetireWorld(t.Context(), in.scope, "north-0"))
	if diff := cmp.Diff(limits.Usage{Devices: 2, Worlds: 1}, in.count(t)); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestQuota_BodyBytes_AreOfWhatIsLive_AndMakingRoomIsNeverRefused(t *testing.T) {
	t.Parallel()
	in := install(t)
	limit := int64(1000)
	in.set(t, limits.Set{BodyBytes: &limit})
	_, _, err := in.records.CreateCollection(t.Context(), in.scope, record.NewCollection{Name: "orders"})
	must(t, err)
	_, err = in.publish(t, "op-1", "a", 600, 0)
	must(t, err)
	_, err = in.publish(t, "op-2", "b", 401, 0)
	full(t, "a body too long", err)
	receipt, err := in.publish(t, "op-1", "a", 600, 0)
	if err != nil || !receipt.Replayed {
		t.Errorf("the retry of what was made: %v", err)
	}
	_, err = in.publish(t, "op-3", "a", 1000, 1) // 400 more than before
	must(t, err)
	_, err = in.publish(t, "op-4", "a", 10, 2)
	if err != nil {
		t.Errorf("a shorter body in a full store: %v", err)
	}
	_, err = in.publish(t, "op-5", "b", 990, 0)
	if err != nil {
		t.Errorf("into the room that was made: %v", err)
	}
	if got := in.count(t); got.BodyBytes != 1000 {
		t.Errorf("counted %d bytes, want 1000", got.BodyBytes)
	}
}

func TestCount_WhoIsDueComesOnce_AndTheSuspendedNot(t *testing.T) {
	t.Parallel()
	in := install(t)
	due := func() (n int) {
		t.Helper()
		tenants, err := in.counter.Due(t.Context(), in.databases[0], 10)
		must(t, err)
		return len(tenants)
	}
	if due() != 1 {
		t.Errorf("%d are due at first, want 1", due())
	}
	in.count(t)
	if due() != 0 {
		t.Error("who was counted is due again at once")
	}

	_, err := in.tenants.SuspendTenant(t.Context(), in.operator, in.scope.Tenant)
	must(t, err)
	if err := in.counter.Count(t.Context(), in.databases[0], in.scope.Tenant); domain.CodeOf(err) != "tenant_suspended" {
		t.Errorf("the count of a suspended tenant: %v", err)
	}
	counted, err := in.store.Usage(t.Context(), in.operator, in.scope.Tenant, in.databases)
	must(t, err)
	if counted.At.IsZero() {
		t.Error("a count that failed took the one before away")
	}
}

func TestSetLimits_IsACompareAndSwap(t *testing.T) {
	t.Parallel()
	in := install(t)
	first, err := in.store.SetLimits(t.Context(), in.operator, in.scope.Tenant, limits.Set{Worlds: two(), Revision: 1})
	if err != nil || first.Revision != 2 {
		t.Fatalf("the first: %+v, %v", first, err)
	}
	for _, stale := range []int64{1, 3} {
		if _, err := in.store.SetLimits(t.Context(), in.operator, in.scope.Tenant, limits.Set{Revision: stale}); domain.CodeOf(err) != "revision_stale" {
			t.Errorf("from revision %d: %v, want revision_stale", stale, err)
		}
	}
	read, err := in.store.Limits(t.Context(), in.operator, in.scope.Tenant)
	if diff := cmp.Diff(first, read); diff != "" || err != nil {
		t.Errorf("read: %v (-set +read)\n%s", err, diff)
	}
	nobody := domain.NewID[domain.TenantKind](time.Now())
	if _, err := in.store.SetLimits(t.Context(), in.operator, nobody, limits.Set{Revision: 1}); domain.CodeOf(err) != "tenant_not_found" {
		t.Errorf("of nobody: %v", err)
	}
	if _, err := in.store.Limits(t.Context(), in.scope, in.scope.Tenant); domain.KindOf(err) != domain.KindForbidden {
		t.Errorf("by the tenant itself: %v", err)
	}
}
