package lease

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// stand has a principal stand in line, as Acquire does for one that waits, or move
// its place on.
func (c *coordinator) stand(t *testing.T, world, requestID string) {
	t.Helper()
	req := Acquire{RequestID: requestID, Wait: MaxWait}
	if err := req.check(); err != nil {
		t.Fatal(err)
	}
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.tryAcquire(t.Context(), c.scope, actorOf(c.scope), ref, req, true)
	if !awaitable(err) {
		t.Errorf("%s stands in line: %v", requestID, err)
	}
}

func TestWhoWaits_IsServedInTurn(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b, other := c.as("a"), c.as("b"), c.process(t).as("c")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	b.stand(t, world, "b's")
	other.stand(t, world, "c's")
	b.stand(t, world, "b's") // keeps its place
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a",
		"b waits with ticket 1", "c waits with ticket 2")

	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Fatal(err)
	}
	_, err := a.Acquire(t.Context(), a.scope, world, Acquire{RequestID: "not-in-line"})
	expectCode(t, err, domain.KindConflict, "lease_awaited")
	other.stand(t, world, "c's") // is not the first
	grant := b.acquire(t, world, Acquire{RequestID: "b's", Wait: MaxWait})
	handed := Authority{grant.Epoch, grant.Secret}
	if _, err := b.HandOff(t.Context(), b.scope, world, handed, ToNext); err != nil {
		t.Error(err)
	}
	next := other.acquire(t, world, Acquire{RequestID: "c's", Wait: MaxWait})
	_, err = other.HandOff(t.Context(), other.scope, world, Authority{next.Epoch, next.Secret}, ToNext)
	expectCode(t, err, domain.KindConflict, "nobody_waits")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to coordinator by a",
		"4 handed to b by b", "5 handed to c by b")
}

func TestWhoHasGone_IsSkipped(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b, other := c.as("a"), c.as("b"), c.as("c")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	b.stand(t, world, "b's")
	c.advance(t, waitsFor)
	other.stand(t, world, "c's")
	done, err := a.HandOff(t.Context(), a.scope, world, lease, ToNext)
	if err != nil || done.To != actorOf(other.scope) {
		t.Errorf("handed to %v, %v", done.To, err)
	}
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to c by a")
}

// Those who have gone leave no rows, also while somebody before them waits on.
func TestWhoHasGone_LeavesTheLineBehindOneWhoWaits(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b, other := c.as("a"), c.as("b"), c.as("c")
	world := c.world(t, "arena")
	a.hold(t, world)
	b.stand(t, world, "b's")
	other.stand(t, world, "c's")
	c.advance(t, waitsFor-time.Second)
	b.stand(t, world, "b's")
	c.advance(t, time.Second)
	b.stand(t, world, "b's")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "b waits with ticket 1")
}

// A request that waits is answered once the lease is its own, and a caller that
// goes away takes its place with it.
func TestARequestThatWaits_GetsTheLeaseWhenItIsHandedOn(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b, other := c.as("a"), c.process(t).as("b"), c.as("c")
	world := c.world(t, "arena")
	lease := a.hold(t, world)

	leaving, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := other.Acquire(leaving, other.scope, world, Acquire{RequestID: "c's", Wait: MaxWait})
		gone <- err
	}()
	c.awaitInLine(t, world, 1)
	leave()
	if err := <-gone; err != context.Canceled {
		t.Errorf("the caller that went away got %v", err)
	}
	c.awaitInLine(t, world, 0)

	granted := make(chan Grant)
	go func() { granted <- b.acquire(t, world, Acquire{RequestID: "b's", Wait: MaxWait}) }()
	c.awaitInLine(t, world, 1)
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToNext); err != nil {
		t.Error(err)
	}
	b.activate(t, <-granted)
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "3 handed to b by a", "3 activated by b")
}

// awaitInLine asks the database until so many stand in a world's line.
func (c *coordinator) awaitInLine(t *testing.T, world string, want int) {
	t.Helper()
	admin := c.admin[c.router.Database(domain.NumberOf(world)).Name]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := -1; n != want; {
		if err := admin.QueryRow(ctx, `SELECT count(*) FROM lease_waiters WHERE world_id = $1`, world).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSameRequest_GetsTheSameLease_WhileItStands(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")
	first := a.acquire(t, world, Acquire{RequestID: "r"})
	for _, process := range []*coordinator{a, c.process(t).as("a")} {
		again := process.acquire(t, world, Acquire{RequestID: "r", Takeover: true})
		if again.Epoch != first.Epoch || again.Secret != first.Secret || !again.ExpiresAt.Equal(first.ExpiresAt) {
			t.Errorf("the retry got %+v, want %+v", again, first)
		}
	}
	_, err := b.Acquire(t.Context(), b.scope, world, Acquire{RequestID: "r"}) // is another's request
	expectCode(t, err, domain.KindConflict, "lease_held")
	_, err = b.Acquire(t.Context(), b.scope, world, Acquire{RequestID: "r", Takeover: true})
	expectCode(t, err, domain.KindConflict, "lease_held")
	_, err = a.Acquire(t.Context(), a.scope, world, Acquire{RequestID: "s"}) // a second process of its own
	expectCode(t, err, domain.KindConflict, "lease_held")

	second := a.acquire(t, world, Acquire{RequestID: "s", Takeover: true})
	if second.Secret == first.Secret {
		t.Error("two leases have one secret")
	}
	_, err = a.Renew(t.Context(), a.scope, world, Authority{first.Epoch, first.Secret})
	expectFenced(t, err, 3, actorOf(a.scope))
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "3 handed to a by a")
}

// A request that has waited for as long as it may is told so, and the same one goes
// on in its place.
func TestARequestThatComesAgain_KeepsItsPlaceInLine(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	holder, first, second := c.as("holder"), c.as("first"), c.as("second")
	lease := holder.hold(t, world)
	_, err := first.Acquire(t.Context(), first.scope, world, Acquire{RequestID: "first", Wait: time.Millisecond})
	expectCode(t, err, domain.KindConflict, "lease_held")
	_, err = second.Acquire(t.Context(), second.scope, world, Acquire{RequestID: "second", Wait: time.Millisecond})
	expectCode(t, err, domain.KindConflict, "lease_held")
	if _, err := holder.HandOff(t.Context(), holder.scope, world, lease, ToCoordinator); err != nil {
		t.Fatal(err)
	}
	_, err = second.Acquire(t.Context(), second.scope, world, Acquire{RequestID: "second"})
	expectCode(t, err, domain.KindConflict, "lease_awaited")
	first.acquire(t, world, Acquire{RequestID: "first"})
}

// A waiter on a busy world tries now and then, and not with each entry.
func TestAWaiter_OfABusyWorld_DoesNotTryWithEachEntry(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	lease := c.take(t, world)
	c.everywhere(t, `CREATE TABLE tries (world_id text)`)
	c.everywhere(t, `CREATE FUNCTION note_try() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$ BEGIN INSERT INTO tries VALUES (NEW.world_id); RETURN NEW; END $$`)
	c.everywhere(t, `CREATE TRIGGER note_try BEFORE UPDATE ON lease_waiters FOR EACH ROW EXECUTE FUNCTION note_try()`)

	const wait = 500 * time.Millisecond
	other := c.as("other")
	waited := make(chan error, 1)
	go func() {
		_, err := other.Acquire(t.Context(), other.scope, world, Acquire{RequestID: "other", Wait: wait})
		waited <- err
	}()
	wrote := 0
	for ; len(waited) == 0; wrote++ {
		c.write(t, world, &lease, "", "x")
	}
	expectCode(t, <-waited, domain.KindConflict, "lease_held")
	var tries int
	admin := c.admin[c.router.Database(domain.NumberOf(world)).Name]
	if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM tries`).Scan(&tries); err != nil {
		t.Fatal(err)
	}
	if most := int(wait/tryEvery) + 1; tries > most {
		t.Errorf("it tried %d times within %v, beside %d entries; want %d at most", tries, wait, wrote, most)
	}
}

func TestALineThatIsFull_TakesNobodyElse(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	c.take(t, world)
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	fill := &decision{world: ref, line: true, decide: func(w *locked) error {
		for i := range maxWaiters {
			if !w.standInLine(waiter{caller: actorOf(c.scope), requestID: fmt.Sprint("request-", i), term: DefaultTerm, replay: DefaultReplay}) {
				t.Errorf("no room for waiter %d", i)
			}
		}
		return nil
	}}
	if err := c.decide(t.Context(), c.scope.Tenant, fill); err != nil {
		t.Fatal(err)
	}
	other := c.as("other")
	_, err = other.Acquire(t.Context(), other.scope, world, Acquire{RequestID: "other", Wait: time.Minute})
	expectCode(t, err, domain.KindConflict, "line_full")
}
