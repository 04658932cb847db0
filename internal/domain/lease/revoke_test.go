package lease

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// L2: the revocation was decided, and then its process paused.
func TestARevocationFromAnOldLook_DoesNothing(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	for name, meanwhile := range map[string]func(world string, lease Authority) []string{
		"renewed": func(world string, lease Authority) []string {
			if _, err := a.Renew(t.Context(), a.scope, world, lease); err != nil {
				t.Error(err)
			}
			return []string{"2 renewed by a"}
		},
		"taken over": func(world string, lease Authority) []string {
			a.acquire(t, world, Acquire{RequestID: "again", Takeover: true})
			return []string{"3 handed to a by a"}
		},
	} {
		world := c.world(t, worldNamed(name))
		lease := a.hold(t, world)
		look, err := c.Lease(t.Context(), c.scope, c.scope.Tenant, world)
		if err != nil {
			t.Fatal(err)
		}
		r := c.remote(t)
		paused := r.network.HoldBefore(t, lockHeads)
		answer := make(chan error)
		go func() {
			_, err := r.Revoke(t.Context(), operator(), c.scope.Tenant, world, Revoke{look.Epoch, look.RenewedPosition, "it hangs"})
			answer <- err
		}()
		<-paused.Met()
		more := meanwhile(world, lease)
		paused.Release()
		expectCode(t, <-answer, domain.KindConflict, "lease_changed")
		c.expectStory(t, world, append([]string{"1 made by client", "2 handed to a by a", "2 activated by a"}, more...)...)
	}
}

// The same of a revocation because the term was over: the look was wrong when the
// clock has stepped back since, and the renewal came in time.
func TestAnExpiryFromAnOldLook_DoesNothing(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t)
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	c.advance(t, DefaultTerm)
	paused := r.network.HoldBefore(t, lockHeads)
	answer := make(chan State)
	go func() {
		state, err := r.Lease(t.Context(), r.scope, r.scope.Tenant, world) // sees a lease whose term is over
		if err != nil {
			t.Error(err)
		}
		answer <- state
	}()
	<-paused.Met()
	c.advance(t, -DefaultTerm)
	if _, err := a.Renew(t.Context(), a.scope, world, lease); err != nil {
		t.Error(err)
	}
	paused.Release()
	if state := <-answer; state.Epoch != 2 || state.Holder != actorOf(a.scope) {
		t.Errorf("the lease is %+v", state)
	}
	a.write(t, world, &lease, "", "still the writer")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "2 renewed by a",
		"2 a writes still the writer")
}

func TestARevocation_EndsTheLeaseItLookedAt(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	look, err := c.Lease(t.Context(), c.scope, c.scope.Tenant, world)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]Revoke{
		"an older epoch":  {look.Epoch - 1, look.RenewedPosition, "it hangs"},
		"a later epoch":   {look.Epoch + 1, look.RenewedPosition, "it hangs"},
		"an old renewal":  {look.Epoch, look.RenewedPosition - 1, "it hangs"},
		"a later renewal": {look.Epoch, look.RenewedPosition + 1, "it hangs"},
	} {
		_, err := c.Revoke(t.Context(), operator(), c.scope.Tenant, world, wrong)
		if domain.CodeOf(err) != "lease_changed" {
			t.Errorf("%s: %v", name, err)
		}
	}
	done, err := c.Revoke(t.Context(), operator(), c.scope.Tenant, world, Revoke{look.Epoch, look.RenewedPosition, "it hangs"})
	if err != nil || done.Epoch != 3 || !done.To.IsCoordinator() || done.Position != 5 {
		t.Errorf("revoked: %+v, %v", done, err)
	}
	_, err = a.tryWrite(t, world, &lease, "", "late")
	expectFenced(t, err, 3, done.To)
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a",
		"2 revoked by operator: it hangs", "3 granted to coordinator", "3 refused a with 2, 1 times")
}

func TestALease_IsShownToItsTenantAndToOperatorsOnly(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	a.hold(t, world)
	neighbour := c.scope
	neighbour.Tenant = domain.DeriveID[domain.TenantKind]([]byte("tenants"), "neighbour")
	for who, scope := range map[string]tenancy.Scope{"its tenant": c.scope, "an operator": operator(), "a neighbour": neighbour} {
		state, err := c.Lease(t.Context(), scope, c.scope.Tenant, world)
		proof, errAt := c.LeaseAt(t.Context(), scope, c.scope.Tenant, world, 2)
		if who == "a neighbour" {
			expectCode(t, err, domain.KindNotFound, "world_not_found")
			expectCode(t, errAt, domain.KindNotFound, "world_not_found")
			continue
		}
		if err != nil || state.Epoch != 2 || state.Holder != actorOf(a.scope) {
			t.Errorf("%s sees %+v, %v", who, state, err)
		}
		if errAt != nil || proof.Epoch != 2 || proof.Holder != actorOf(a.scope) {
			t.Errorf("%s sees at 2 %+v, %v", who, proof, errAt)
		}
	}
}
