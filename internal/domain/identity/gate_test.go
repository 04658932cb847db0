package identity

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// call is one use of a method that serves a tenant.
type call func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error

// served are all methods that serve a tenant, by name. A method that takes an
// account's id uses the one that it is given.
var served = map[string]call{
	"Create": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.Create(ctx, scope, CreateAccount{Handle: "new"})
		return err
	},
	"Get": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.Get(ctx, scope, id)
		return err
	},
	"BatchGet": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		results, err := s.BatchGet(ctx, scope, []domain.AccountID{id})
		if err == nil && results[0].Account == nil {
			err = errNoAccount // its way to say so
		}
		return err
	},
	"List": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.List(ctx, scope, AccountFilter{}, nil, 10)
		return err
	},
	"LookupHandle": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.LookupHandle(ctx, scope, "ada")
		return err
	},
	"LookupEmail": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.LookupEmail(ctx, scope, "ada@example.com")
		return err
	},
	"Patch": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		disabled := Disabled
		_, err := s.Patch(ctx, scope, id, 1, AccountPatch{Status: &disabled})
		return err
	},
	"BeginEmailChange": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.BeginEmailChange(ctx, scope, id, BeginEmailChange{Email: "new@example.com"})
		return err
	},
	"ConfirmEmailChange": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.ConfirmEmailChange(ctx, scope, id, domain.RandomID[domain.EmailChangeKind](), "00000000")
		return err
	},
	"CancelEmailChange": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		return s.CancelEmailChange(ctx, scope, id, domain.RandomID[domain.EmailChangeKind]())
	},
	"PendingEmailChange": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.PendingEmailChange(ctx, scope, id)
		return err
	},
	"RemoveEmail": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.RemoveEmail(ctx, scope, id, nil)
		return err
	},
	"Delete": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		return s.Delete(ctx, scope, id, 1)
	},
	"AccountEvents": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.AccountEvents(ctx, scope, id, 0, 10)
		return err
	},
	"Feed": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.Feed(ctx, scope, FeedPosition{}, 10)
		return err
	},
	"CreateDevice": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.CreateDevice(ctx, scope, CreateDevice{})
		return err
	},
	"GetDevice": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.GetDevice(ctx, scope, domain.RandomID[domain.DeviceKind]())
		return err
	},
	"PatchDevice": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.PatchDevice(ctx, scope, domain.RandomID[domain.DeviceKind](), 1, DevicePatch{})
		return err
	},
	"RevokeDevice": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		return s.RevokeDevice(ctx, scope, domain.RandomID[domain.DeviceKind](), 1)
	},
	"AccountDevices": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.AccountDevices(ctx, scope, id, nil, domain.DeviceID{}, 10)
		return err
	},
	"LookupCode": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.LookupCode(ctx, scope, CodeGuess{"WDJB-MJHT", id})
		return err
	},
	"ApproveDevice": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.ApproveDevice(ctx, scope, CodeGuess{"WDJB-MJHT", id}, workingClients{})
		return err
	},
	"DenyDevice": func(ctx context.Context, s *Service, scope tenancy.Scope, id domain.AccountID) error {
		_, err := s.DenyDevice(ctx, scope, CodeGuess{"WDJB-MJHT", id})
		return err
	},
	"Import": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		return s.Import(ctx, scope, linesOf(nil), nil)
	},
	"Report": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.Report(ctx, scope.Tenant)
		return err
	},
	"Check": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.Check(ctx, scope.Tenant, func(Violation) error { return nil })
		return err
	},
	"CountStocks": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.CountStocks(ctx, s.router.Databases()[0].Name, scope.Tenant)
		return err
	},
	"Recovery": func(ctx context.Context, s *Service, scope tenancy.Scope, _ domain.AccountID) error {
		_, err := s.Recovery(ctx, scope)
		return err
	},
}

// spared are the refusals that a method doesn't meet, because it is for just that.
var spared = map[string][]string{
	"Import": {"namespace_importing"}, "CountStocks": {"namespace_importing"},
	"Report": {"namespace_importing", "tenant_suspended"},
	"Check":  {"namespace_importing", "tenant_suspended"},
}

// methods are the exported methods that take an argument of one of the types.
func methods(types ...reflect.Type) (names []string) {
	service := reflect.TypeFor[*Service]()
	for i := range service.NumMethod() {
		m := service.Method(i)
		for in := range m.Type.NumIn() {
			if slices.Contains(types, m.Type.In(in)) {
				names = append(names, m.Name)
				break
			}
		}
	}
	return names
}

// A method that serves a tenant takes its scope; the others are the worker's and
// the operators', and have tests of their own.
func TestEveryMethodThatServesATenant_IsHeldToTheGates(t *testing.T) {
	t.Parallel()
	for _, name := range methods(reflect.TypeFor[tenancy.Scope](), reflect.TypeFor[domain.TenantID]()) {
		if served[name] == nil {
			t.Errorf("%s serves a tenant, and no test holds it to the gates: add it to served", name)
		}
	}
}

func TestANamespaceThatIsNotServed_RefusesEveryMethodWithTheReason(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "ada@example.com")
	absent := d.scope
	absent.Tenant = domain.NewID[domain.TenantKind](time.Now())
	namespaces := []struct {
		name  string
		scope tenancy.Scope
		gate  tenancy.GateState
		code  string
	}{
		{"no gate at all", absent, tenancy.GateState{}, "tenant_closed"},
		{"no layout", d.scope, tenancy.GateState{State: "open", Layout: "", IdentityState: "open"}, "layout_unknown"},
		{"an unknown layout", d.scope, tenancy.GateState{State: "open", Layout: "v2-128-fresh", IdentityState: "open"}, "layout_unknown"},
		{"a legacy layout", d.scope, tenancy.GateState{State: "open", Layout: "legacy", IdentityState: "importing"}, "layout_unknown"},
		{"an import under way", d.scope, tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "importing"}, "namespace_importing"},
		{"a suspended tenant", d.scope, gateOf("suspended"), "tenant_suspended"},
		{"a closed tenant", d.scope, gateOf("closed"), "tenant_closed"},
	}
	before := d.state(t)
	for _, n := range namespaces {
		if n.gate != (tenancy.GateState{}) {
			d.setGate(t, n.scope.Tenant, n.gate)
		}
		for name, call := range served {
			err := call(t.Context(), d.Service, n.scope, a.ID)
			if slices.Contains(spared[name], n.code) {
				if err != nil {
					t.Errorf("%s, %s: %v, want it to go on", n.name, name, err)
				}
				continue
			}
			if domain.KindOf(err) != domain.KindForbidden || domain.CodeOf(err) != n.code {
				t.Errorf("%s, %s: %v, want forbidden %s", n.name, name, err, n.code)
			}
		}
		d.expectState(t, before)
	}
	d.setGate(t, d.scope.Tenant, gateOf("open"))
	for name, call := range served {
		// Whatever else they say, now that some of them delete and change.
		if err := call(t.Context(), d.Service, d.scope, a.ID); domain.KindOf(err) == domain.KindForbidden {
			t.Errorf("once it is open, %s: %v", name, err)
		}
	}
}

// The answer for another tenant's account is the one for an id that nobody ever
// had, to the letter, and neither finds anything out nor changes anything.
func TestAnotherTenantsAccount_IsAsUnknownAsARandomId(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	theirs := d.create(t, "ada", "ada@example.com")
	before := d.state(t)
	stranger := d.newTenant(t, "ascii")
	random := domain.NewID[domain.AccountKind](time.Now())

	var tested []string
	for _, name := range methods(reflect.TypeFor[domain.AccountID](), reflect.TypeFor[[]domain.AccountID](), reflect.TypeFor[CodeGuess]()) {
		call := served[name]
		if call == nil {
			t.Fatalf("%s takes an account's id, and is not in served", name)
		}
		tested = append(tested, name)
		of := func(id domain.AccountID) *domain.Error {
			err := call(t.Context(), d.Service, stranger, id)
			known, ok := err.(*domain.Error)
			if !ok {
				t.Fatalf("%s: %v, want an error of the domain's own", name, err)
			}
			return known
		}
		foreign, unknown := of(theirs.ID), of(random)
		expectCode(t, foreign, domain.KindNotFound, "account_not_found")
		if diff := cmp.Diff(unknown, foreign, cmp.AllowUnexported(domain.Error{})); diff != "" {
			t.Errorf("%s: the answers differ (-random +another tenant's)\n%s", name, diff)
		}
	}
	if len(tested) < 4 {
		t.Errorf("only %v take an account's id", tested)
	}
	for _, name := range []string{"LookupHandle", "LookupEmail"} { // by the other tenant's keys
		expectCode(t, served[name](t.Context(), d.Service, stranger, random), domain.KindNotFound, "account_not_found")
	}
	page, err := d.List(t.Context(), stranger, AccountFilter{}, nil, MaxPage)
	if err != nil || len(page.Accounts) > 0 || page.Next != nil {
		t.Errorf("a stranger's list is %+v, %v", page, err)
	}
	d.expectState(t, before)
}
