package identity_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

func TestReserved_ATenantsOwnListReplacesTheDefault(t *testing.T) {
	reserved, err := identity.NewReserved(identity.HandleASCII, []string{"Acme", "acme-team"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = identity.ParseHandle(identity.HandleASCII, reserved, "ACME")
	wantRefusal(t, err, "handle_reserved", "ACME")
	if _, err := identity.ParseHandle(identity.HandleASCII, reserved, "admin"); err != nil {
		t.Errorf("a name of the default list: %v", err)
	}
	if _, err := identity.ParseHandle(identity.HandleASCII, reserved, "acrne"); err != nil {
		t.Errorf("the ascii policy knows no look-alikes: %v", err)
	}
}

func TestReserved_RefusesANameThatIsNoHandle(t *testing.T) {
	_, err := identity.NewReserved(identity.HandleASCII, []string{"acme", "not a handle"})
	wantRefusal(t, err, "handle_invalid", "not a handle")
}

func TestReserved_DefaultsAreCanonicalUnderBothPolicies(t *testing.T) {
	for _, name := range []string{"admin", "root", "support", "postmaster", "security.txt", "null", "me", "everyone"} {
		for _, policy := range []identity.HandlePolicy{identity.HandleASCII, identity.HandleUnicode} {
			_, err := identity.ParseHandle(policy, identity.DefaultReserved(), name)
			wantRefusal(t, err, "handle_reserved", name)
			if key := mustHandle(t, policy, name).Key(); key != name {
				t.Errorf("%s: %q has the key %q, so the list never matches it", policy, name, key)
			}
		}
	}
	for _, name := range []string{"alice", "bob", "administer", "rooted", "maria", "li"} {
		if _, err := identity.ParseHandle(identity.HandleUnicode, identity.DefaultReserved(), name); err != nil {
			t.Errorf("an ordinary name: %v", err)
		}
	}
	var zero identity.Reserved
	if _, err := identity.ParseHandle(identity.HandleASCII, zero, "admin"); err != nil {
		t.Errorf("the zero Reserved: %v, code %s", err, domain.CodeOf(err))
	}
}
