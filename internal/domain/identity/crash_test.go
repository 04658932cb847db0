package identity

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var errCrash = errors.New("the process died here")

// crashAt stops its process at the nth time that a point is reached. It records
// what was reached.
type crashAt struct {
	point string
	nth   int

	mu      sync.Mutex
	reached map[string]int
}

func (c *crashAt) String() string { return fmt.Sprintf("%s %d", c.point, c.nth) }

func (c *crashAt) Reach(_ context.Context, point string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reached == nil {
		c.reached = map[string]int{}
	}
	c.reached[point]++
	if point == c.point && c.reached[point] == c.nth {
		return errCrash
	}
	return nil
}

// points are all the points that the package names, read from its source so
// that a new one can't be forgotten.
func points(t *testing.T) []string {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "reach" {
				point, err := strconv.Unquote(call.Args[1].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, point)
			}
			return true
		})
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// life is what a process does until it dies: it goes through every step of the
// protocol, refusals and recoveries too.
func life(ctx context.Context, d *directory) error {
	if _, err := d.tryCreate(ctx, "taken", "taken@example.com"); err != nil {
		return err
	}
	email := "ada@example.com"
	for range 2 { // and again, with its key
		req := CreateAccount{Handle: "ada", Email: &email, EmailVerified: true, IdempotencyKey: "ada"}
		if _, err := d.Create(ctx, d.scope, req); err != nil {
			return err
		}
	}
	if _, err := d.tryCreate(ctx, "loser", "taken@example.com"); stopped(err) {
		return err
	}
	if err := lifeOfAnEmail(ctx, d); err != nil {
		return err
	}
	a, err := d.LookupHandle(ctx, d.scope, "ada")
	if err != nil {
		return err
	}
	return d.Delete(ctx, d.scope, a.ID, a.Revision)
}

// lifeOfAnEmail gives an account its first address, another, the same anew, a
// taken one in vain, and none.
func lifeOfAnEmail(ctx context.Context, d *directory) error {
	created, err := d.tryCreate(ctx, "eve", "")
	if err != nil {
		return err
	}
	eve := created.Account.ID
	for _, email := range []string{"first@example.com", "second@example.com", "Second@example.com"} {
		if _, err := d.tryChangeEmail(ctx, eve, email); err != nil {
			return err
		}
	}
	if _, err := d.tryChangeEmail(ctx, eve, "taken@example.com"); stopped(err) {
		return err
	}
	_, err = d.RemoveEmail(ctx, d.scope, eve, nil)
	return err
}

func TestCrash_AtEveryPoint_IsRecovered(t *testing.T) {
	t.Parallel()
	everyCrash(t, newDirectory(t, Options{}))
}

// lives are what processes do until they die: between them, they reach every
// point that the package names.
var lives = map[string]func(context.Context, *directory) error{
	"accounts": life,
	"devices":  lifeOfDevices,
}

// everyCrash drives each life through, to count how often it reaches each point,
// then one life for each of those, which dies there, and then recovers them all.
func everyCrash(t *testing.T, d *directory) {
	var dead []*directory
	reached := map[string]bool{}
	for name, life := range lives {
		covered := &crashAt{}
		if err := life(t.Context(), d.newcomer(t, Options{Faults: covered})); err != nil {
			t.Fatal(err)
		}
		for point, times := range covered.reached {
			reached[point] = true
			for nth := range times {
				dying := d.newcomer(t, Options{Faults: &crashAt{point: point, nth: nth + 1}})
				if err := life(t.Context(), dying); !errors.Is(err, errCrash) {
					t.Fatalf("the process of %s did not die at the %dth %q: %v", name, nth+1, point, err)
				}
				dead = append(dead, dying)
			}
		}
	}
	for _, point := range points(t) {
		if !reached[point] && !strings.HasPrefix(point, "cleanup ") { // which has scenarios of its own
			t.Errorf("point %q is never reached by the lives that this test drives", point)
		}
	}
	d.recoverAll(t, dead)
}

// newcomer is another process, of a tenant of its own.
func (d *directory) newcomer(t *testing.T, options Options) *directory {
	other := d.with(options)
	other.scope = d.newTenant(t, "ascii")
	return other
}

func (d *directory) recoverAll(t *testing.T, dead []*directory) {
	if len(dead) < 40 {
		t.Fatalf("only %d processes died", len(dead))
	}
	d.checkInvariants(t, false)
	d.expectNoOrphanResolves(t)
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
	d.expectNoOrphanResolves(t)
	for _, died := range dead {
		heir := died.with(Options{})
		t.Run(fmt.Sprint(died.faults), func(t *testing.T) {
			heir.expectEveryKeyUsable(t, "ada", "ada@example.com")
			heir.expectEveryKeyUsable(t, "loser", "loser@example.com")
			heir.expectEveryKeyUsable(t, "eve", "first@example.com")
			heir.expectEveryKeyUsable(t, "eve", "second@example.com")
			heir.expectEveryDeviceUsable(t)
		})
	}
	d.checkInvariants(t, true)
}

// expectNoOrphanResolves looks every claim up: it leads to a committed account
// that holds the key, or to nothing.
func (d *directory) expectNoOrphanResolves(t *testing.T) {
	t.Helper()
	holders := map[tenantLink]domain.AccountID{}
	for _, a := range d.accountRows(t) {
		if a.visible() {
			for _, l := range a.links() {
				holders[tenantLink{a.tenant, l}] = a.ID
			}
		}
	}
	for _, c := range d.claimRows(t) {
		if c.claim.Family == domain.FamilyDeviceCode {
			d.expectNoOrphanCode(t, c)
			continue
		}
		found, err := d.lookup(t.Context(), c.tenant, c.claim.link)
		holder, isHeld := holders[tenantLink{c.tenant, c.claim.link}]
		switch {
		case !isHeld && domain.KindOf(err) != domain.KindNotFound:
			t.Errorf("%s resolves to %v, %v, and no committed account holds it", c.claim.Key, found.ID, err)
		case isHeld && (err != nil || found.ID != holder):
			t.Errorf("%s resolves to %v, %v, want %v", c.claim.Key, found.ID, err, holder)
		}
	}
}

// expectEveryKeyUsable says that no key is lost: each is held by a committed
// account, or in a tombstone's quarantine, or anybody's to take.
func (d *directory) expectEveryKeyUsable(t *testing.T, handle, email string) {
	t.Helper()
	if _, err := d.LookupEmail(t.Context(), d.scope, email); domain.KindOf(err) == domain.KindNotFound {
		d.create(t, "taker-of-"+strings.ReplaceAll(email, "@", "-"), email)
	} else if err != nil {
		t.Errorf("look %s up: %v", email, err)
	}
	if d.handleIsHeld(t, handle) {
		return
	}
	d.create(t, handle, "")
}

func (d *directory) handleIsHeld(t *testing.T, handle string) bool {
	t.Helper()
	return slices.ContainsFunc(d.accountRows(t), func(a storedAccount) bool {
		return a.tenant == d.scope.Tenant && a.Handle.Key() == handle
	})
}

func TestKilledBetweenClaimAndCommit_EmailIsTakenAfterTheDeadline(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	dying := d.with(Options{Faults: &crashAt{point: "claimed", nth: 1}})
	if _, err := dying.tryCreate(t.Context(), "ghost", "contested@example.com"); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	// Before the deadline: a conflict that may be retried, at once.
	_, err := d.tryCreate(t.Context(), "heir", "contested@example.com")
	expectCode(t, err, domain.KindConflict, "claim_pending")
	if e := new(domain.Error); !errors.As(err, &e) || e.RetryAfter <= 0 || e.RetryAfter > DefaultDeadline {
		t.Errorf("Retry-After is %v, want at most the deadline", e.RetryAfter)
	}
	_, err = d.LookupEmail(t.Context(), d.scope, "contested@example.com")
	expectCode(t, err, domain.KindNotFound, "account_not_found")

	d.expire(t)
	d.create(t, "heir", "contested@example.com")
	d.expectState(t, state{
		Accounts: []string{"heir contested@example.com active rev 1"},
		Claims:   []string{"email contested@example.com of heir", "handle heir of heir"},
		Events:   []string{"heir 1 account.created by principal [handle email]"},
	})
}
