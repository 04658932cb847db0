package lease

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// withAuthority are the calls that a lease gives the right to, by the name of
// Service's method.
var withAuthority = map[string]func(t *testing.T, c *coordinator, world string, a Authority) error{
	"Append": func(t *testing.T, c *coordinator, world string, a Authority) error {
		_, err := c.tryWrite(t, world, &a, "", "not to be written")
		return err
	},
	"CheckAppend": func(t *testing.T, c *coordinator, world string, a Authority) error {
		verdict, err := c.CheckAppend(t.Context(), c.scope, world, &a)
		if err != nil || verdict.Accepted {
			return err
		}
		return verdict.Refusal
	},
	"Activate": func(t *testing.T, c *coordinator, world string, a Authority) error {
		state, all := c.replay(t, world)
		_, err := c.Activate(t.Context(), c.scope, world, a, state.GrantedPosition, all[state.GrantedPosition-1].Hash)
		return err
	},
	"Renew": func(t *testing.T, c *coordinator, world string, a Authority) error {
		_, err := c.Renew(t.Context(), c.scope, world, a)
		return err
	},
	"RenewAll": func(t *testing.T, c *coordinator, world string, a Authority) error {
		renewed, err := c.RenewAll(t.Context(), c.scope, []Renew{{world, a}})
		if err != nil {
			return err
		}
		return renewed[0].Err
	},
	"HandOff": func(t *testing.T, c *coordinator, world string, a Authority) error {
		_, err := c.HandOff(t.Context(), c.scope, world, a, ToCoordinator)
		return err
	},
}

// L12 and L21, for every call that there is: an old epoch, a second process of the
// holder that knows the epoch and not the secret, another principal that knows both,
// and a secret under another epoch than its own.
func TestEveryCallWithAnythingButTheLeaseInForce_IsFenced(t *testing.T) {
	t.Parallel()
	expectAllThatTakeAuthority(t)
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	for name, call := range withAuthority {
		world := c.world(t, worldNamed(name))
		old := a.hold(t, world)
		if _, err := a.HandOff(t.Context(), a.scope, world, old, ToCoordinator); err != nil {
			t.Fatal(err)
		}
		lease := b.hold(t, world)
		for _, wrong := range []struct {
			name      string
			by        *coordinator
			presented Authority
		}{
			{"the lease of before", a, old},
			{"the epoch, without the secret", b, Authority{lease.Epoch, ""}},
			{"the epoch, with the secret of before", b, Authority{lease.Epoch, old.Secret}},
			{"the epoch and the secret, of another's", a, lease},
			{"the secret, with the epoch of before", b, Authority{old.Epoch, lease.Secret}},
			{"the secret, with the epoch that is next", b, Authority{lease.Epoch + 1, lease.Secret}},
		} {
			t.Run(name+" with "+wrong.name, func(t *testing.T) {
				expectFenced(t, call(t, wrong.by, world, wrong.presented), lease.Epoch, actorOf(b.scope))
			})
		}
		story := []string{
			"1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to coordinator by a",
			"4 handed to b by b", "4 activated by b",
		}
		if name == "Append" { // is evidence
			story = append(story, "4 refused a with 2, 1 times", "4 refused b with 4, 1 times", "counted of a: 1", "counted of b: 3")
		}
		c.expectStory(t, world, story...)
	}
}

// Who writes without a lease, while a node holds, is fenced too.
func TestAHostedWriteWhileANodeHolds_IsFenced(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	c.write(t, world, nil, "", "hosted")
	a.hold(t, world)
	_, err := c.tryWrite(t, world, nil, "", "late")
	expectFenced(t, err, 2, actorOf(a.scope))
	_, err = a.tryWrite(t, world, nil, "", "without its lease")
	expectFenced(t, err, 2, actorOf(a.scope))
	c.expectStory(t, world, "1 made by client", "1 client writes hosted", "2 handed to a by a", "2 activated by a",
		"2 refused client with 0, 1 times", "2 refused a with 0, 1 times")
}

// L22: a name that equals another's under another issuer is nobody's but its own,
// and the coordinator has none that a token could carry.
func TestNamesLikeTheHolders_AreNotTheHolder(t *testing.T) {
	t.Parallel()
	secret := "secret"
	holder := journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: "7"}
	held := &locked{head: head{State: journal.State{Epoch: 2, Holder: holder, Activated: true}, secretHash: hashSecret(secret)}}
	lease := &Authority{2, secret}
	if err := held.fence(holder, lease); err != nil {
		t.Fatal(err)
	}
	for _, like := range []journal.Actor{
		{Type: journal.ActorPrincipal, Issuer: "https://elsewhere.example", Subject: "7"},
		{Type: journal.ActorOperator, Issuer: journal.HoldfastIssuer, Subject: "7"},
		{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: "coordinator"},
		journal.Coordinator,
	} {
		expectFenced(t, held.fence(like, lease), 2, holder)
		expectFenced(t, held.holds(like, lease), 2, holder)
	}

	free := &locked{head: head{State: journal.State{Epoch: 2, Holder: journal.Coordinator, Activated: true}}}
	for _, secret := range []string{"", "coordinator"} {
		for _, like := range []journal.Actor{{Type: journal.ActorPrincipal, Issuer: "https://elsewhere.example", Subject: "coordinator"}, journal.Coordinator} {
			expectFenced(t, free.holds(like, &Authority{2, secret}), 2, journal.Coordinator)
		}
	}
}

// A call that takes a lease can't be forgotten above.
func expectAllThatTakeAuthority(t *testing.T) {
	t.Helper()
	var takes, tested []string
	service := reflect.TypeFor[*Service]()
	for i := range service.NumMethod() {
		method := service.Method(i)
		for k := range method.Type.NumIn() {
			switch method.Type.In(k) {
			case reflect.TypeFor[Authority](), reflect.TypeFor[*Authority](), reflect.TypeFor[[]Renew]():
				takes = append(takes, method.Name)
			}
		}
	}
	for name := range withAuthority {
		tested = append(tested, name)
	}
	if diff := cmp.Diff(takes, tested, sorted); diff != "" {
		t.Errorf("calls that take a lease (-there are +tested):\n%s", diff)
	}
}

// An authority is of one world.
func TestALeaseOfAnotherWorld_IsFenced(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	one, other := c.world(t, "one"), c.world(t, "other")
	lease := a.hold(t, one)
	a.hold(t, other)
	_, err := a.tryWrite(t, other, &lease, "", "mixed up")
	expectFenced(t, err, 2, actorOf(a.scope))
	_, err = a.tryWrite(t, "nowhere", &lease, "", "lost")
	expectCode(t, err, domain.KindNotFound, "world_not_found")
	c.expectStory(t, one, "1 made by client", "2 handed to a by a", "2 activated by a")
	c.expectStory(t, other, "1 made by client", "2 handed to a by a", "2 activated by a", "2 refused a with 2, 1 times")
}
