package lease

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// L1.
func TestAHolderStoppedPastItsTerm_IsFencedAndToldByWhom(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")
	old := a.hold(t, world)
	a.write(t, world, &old, "", "in time")

	c.advance(t, DefaultTerm)
	lease := b.hold(t, world)
	b.write(t, world, &lease, "", "b's")
	_, err := a.tryWrite(t, world, &old, "", "late")
	expectFenced(t, err, 4, actorOf(b.scope))
	c.expectStory(t, world,
		"1 made by client", "2 handed to a by a", "2 activated by a", "2 a writes in time",
		"2 revoked by coordinator: expiry", "3 granted to coordinator",
		"4 handed to b by b", "4 activated by b", "4 b writes b's", "4 refused a with 2, 1 times")
}

// Whoever meets a lease whose time is over first ends it.
func TestALeaseWhoseTimeIsOver_HasNoPowerBeforeAnyoneRevokesIt(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	for name, meet := range map[string]func(world string, lease Authority) error{
		"append": func(world string, lease Authority) error {
			_, err := a.tryWrite(t, world, &lease, "", "late")
			return err
		},
		"renew": func(world string, lease Authority) error {
			_, err := a.Renew(t.Context(), a.scope, world, lease)
			return err
		},
		"hand off": func(world string, lease Authority) error {
			_, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator)
			return err
		},
		"activate": func(world string, lease Authority) error {
			_, err := a.Activate(t.Context(), a.scope, world, lease, 2, journal.Hash{})
			return err
		},
		"look": func(world string, lease Authority) error {
			verdict, err := a.CheckAppend(t.Context(), a.scope, world, &lease)
			if err != nil || verdict.Accepted {
				return err
			}
			if state, err := a.Lease(t.Context(), a.scope, a.scope.Tenant, world); err != nil || !state.Holder.IsCoordinator() || state.Epoch != 3 {
				t.Errorf("the lease is %+v, %v", state, err)
			}
			return verdict.Refusal
		},
	} {
		world := c.world(t, worldNamed(name))
		lease := a.hold(t, world)
		c.advance(t, DefaultTerm)
		err := meet(world, lease)
		if domain.CodeOf(err) != "lease_expired" {
			t.Errorf("%s got %v", name, err)
		}
		story := []string{
			"1 made by client", "2 handed to a by a", "2 activated by a",
			"2 revoked by coordinator: expiry", "3 granted to coordinator",
		}
		if name == "append" {
			story = append(story, "3 refused a with 2, 1 times")
		}
		c.expectStory(t, world, story...)
	}
}

// L3.
func TestRestarts_MoveNoExpiry(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	before, err := a.Lease(t.Context(), a.scope, a.scope.Tenant, world)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.advance(t, DefaultTerm/4)
		after, err := c.process(t).Lease(t.Context(), a.scope, a.scope.Tenant, world)
		if err != nil || after.State != before.State {
			t.Errorf("behind a restart the lease is %+v, %v, want %+v", after.State, err, before.State)
		}
	}
	c.process(t).as("a").write(t, world, &lease, "", "in time")
	c.advance(t, DefaultTerm/4)
	_, err = c.process(t).as("a").tryWrite(t, world, &lease, "", "late")
	expectCode(t, err, domain.KindConflict, "lease_expired")
}

// L4: the processes' clocks are minutes away from the databases', before and
// behind it, and nobody can tell.
func TestProcessesClocks_DecideNothing(t *testing.T) {
	t.Parallel()
	for _, apart := range []time.Duration{-3 * time.Minute, 3 * time.Minute} {
		c := newClocked(t)
		c.advance(t, apart)
		a := c.as("a")
		world := c.world(t, "arena")
		earliest := c.now(t)
		grant := a.acquire(t, world, Acquire{RequestID: "r"})
		if early, late := earliest.Add(DefaultTerm), c.now(t).Add(DefaultTerm); grant.ExpiresAt.Before(early) || grant.ExpiresAt.After(late) {
			t.Errorf("the lease ends at %v, want it from %v to %v", grant.ExpiresAt, early, late)
		}
		if grant.Remaining != DefaultTerm {
			t.Errorf("%v remain", grant.Remaining)
		}
		a.activate(t, grant)
		lease := Authority{grant.Epoch, grant.Secret}
		c.advance(t, DefaultTerm-5*time.Second)
		a.write(t, world, &lease, "", "in time")
		renewed, err := a.Renew(t.Context(), a.scope, world, lease)
		if err != nil || renewed.Remaining != DefaultTerm {
			t.Errorf("renewed to %+v, %v", renewed, err)
		}
		c.advance(t, DefaultTerm)
		_, err = a.tryWrite(t, world, &lease, "", "late")
		expectCode(t, err, domain.KindConflict, "lease_expired")
	}
}

// L23: the head is another process's until the lease is over.
func TestAnAppendThatWaitsForTheHeadUntilTheLeaseIsOver_IsRefused(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	r := c.remote(t).as("a")

	db := c.router.Database(domain.NumberOf(world)).Name
	holder, err := c.admin[db].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT FROM worlds WHERE world_id = $1 FOR UPDATE`, world); err != nil {
		t.Fatal(err)
	}
	met := r.network.HoldBefore(t, foundBusy)
	answer := make(chan error)
	go func() {
		_, err := r.tryWrite(t, world, &lease, "", "waited")
		answer <- err
	}()
	<-met.Met()
	c.advance(t, DefaultTerm)
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	met.Release()
	expectCode(t, <-answer, domain.KindConflict, "lease_expired")
	c.expectStory(t, world,
		"1 made by client", "2 handed to a by a", "2 activated by a",
		"2 revoked by coordinator: expiry", "3 granted to coordinator", "3 refused a with 2, 1 times")
}

// L25.
func TestTheClockStepsBack_TimesNeverDecrease(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	before, _ := c.replay(t, world)
	c.advance(t, -time.Minute)
	a.write(t, world, &lease, "", "a minute earlier")
	renewed, err := a.Renew(t.Context(), a.scope, world, lease)
	if err != nil || renewed.ExpiresAt.Before(before.ExpiresAt) {
		t.Errorf("renewed to %v, %v, want not before %v", renewed.ExpiresAt, err, before.ExpiresAt)
	}
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Error(err)
	}
	after, _ := c.replay(t, world) // refuses a time that is earlier than the one before
	if !after.LastAt.Equal(before.LastAt) {
		t.Errorf("the last entry is of %v, want the time where the clock stood, %v", after.LastAt, before.LastAt)
	}
	c.advance(t, 2*time.Minute)
	c.write(t, world, nil, "", "on time again")
	c.expectStory(t, world,
		"1 made by client", "2 handed to a by a", "2 activated by a", "2 a writes a minute earlier",
		"2 renewed by a", "3 handed to coordinator by a", "3 client writes on time again")
}

// The same, amid rejections that are counted and not journaled yet.
func TestTheClockStepsBack_RejectionsStayInTheirOrder(t *testing.T) {
	t.Parallel()
	c, _ := newClocked(t).signed()
	a := c.as("a")
	world := c.world(t, "arena")
	stale := Authority{7, "none"}
	for _, ahead := range []time.Duration{0, coalesce / 2, -time.Minute} {
		c.advance(t, ahead)
		_, err := a.tryWrite(t, world, &stale, "", "late")
		expectFenced(t, err, 1, journal.Coordinator)
	}
	c.advance(t, 2*time.Minute)
	c.write(t, world, nil, "", "on time again")
	c.expectStory(t, world, "1 made by client", "1 refused a with 7, 1 times", "1 refused a with 7, 2 times", "1 client writes on time again")
	if _, found := c.inspect(t); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// L26.
func TestRenewalsWithoutActivation_EndAtItsDeadline(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	grant := a.acquire(t, world, Acquire{RequestID: "r", Replay: 45 * time.Second})
	lease := Authority{grant.Epoch, grant.Secret}
	for range 2 {
		c.advance(t, 20*time.Second)
		renewed, err := a.Renew(t.Context(), a.scope, world, lease)
		if err != nil || !renewed.ExpiresAt.Equal(grant.ActivateBy) {
			t.Errorf("renewed to %v, %v, want the deadline %v", renewed.ExpiresAt, err, grant.ActivateBy)
		}
	}
	c.advance(t, 5*time.Second)
	_, err := a.Renew(t.Context(), a.scope, world, lease)
	expectCode(t, err, domain.KindConflict, "lease_expired")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 renewed by a",
		"2 revoked by coordinator: expiry", "3 granted to coordinator")
}

// A renewal gives a whole term from now on, and never takes any of it away.
func TestRenewal_NeverShortens_NorRevives(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	c.advance(t, -DefaultTerm/2)
	first, err := a.Renew(t.Context(), a.scope, world, lease)
	if err != nil {
		t.Fatal(err)
	}
	c.advance(t, -DefaultTerm/2)
	second, err := a.Renew(t.Context(), a.scope, world, lease)
	if err != nil || second.ExpiresAt.Before(first.ExpiresAt) {
		t.Errorf("renewed from %v to %v, %v", first.ExpiresAt, second.ExpiresAt, err)
	}
	c.advance(t, 3*DefaultTerm)
	_, err = a.Renew(t.Context(), a.scope, world, lease)
	expectCode(t, err, domain.KindConflict, "lease_expired")
	state, _ := c.replay(t, world)
	if state.Epoch != 3 || !state.Holder.IsCoordinator() {
		t.Errorf("the lease is %+v", state)
	}
}
