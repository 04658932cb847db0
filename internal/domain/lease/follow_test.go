package lease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestFollow_GivesWhatThereIsAndThenWhatComes(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t).polling(t, never)
	world := c.world(t, "arena")
	c.write(t, world, nil, "", "before")
	all, behind := c.reader(t, world, 0), c.reader(t, world, 2)
	all.upTo(t, 2)
	lease := c.take(t, world)
	c.write(t, world, &lease, "", "by its holder")
	c.expectFollowed(t, world, 0, all)
	c.expectFollowed(t, world, 2, behind)
}

func TestFollow_SaysWhenNothingCame(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	f, err := c.Follow(t.Context(), c.scope, c.world(t, "arena"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if entries, err := f.Next(t.Context(), 10*time.Millisecond); len(entries) != 0 || err != nil {
		t.Errorf("an idle journal gave %d entries, %v", len(entries), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Next(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone got %v", err)
	}
}

func TestFollow_RefusesAPositionBehindTheEnd(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	_, err := c.Follow(t.Context(), c.scope, world, 2)
	expectCode(t, err, domain.KindInvalid, "position_ahead")
	_, err = c.Follow(t.Context(), c.scope, "nowhere", 0)
	expectCode(t, err, domain.KindNotFound, "world_not_found")
}

// L15: an append that is slow to commit holds its own journal up, and no other; one
// that never commits leaves no gap.
func TestFollow_SkipsNothingThatIsSlowToCommit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arm     func(*testkit.Proxied, testing.TB, testkit.Moment) *testkit.Trap
		commits bool
	}{
		"committed late":  {(*testkit.Proxied).HoldBefore, true},
		"never committed": {(*testkit.Proxied).CutBefore, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCoordinator(t)
			reading := c.polling(t, 10*time.Millisecond)
			slow, other := c.world(t, "slow"), c.world(t, "other")
			readsSlow, readsOther := reading.reader(t, slow, 0), reading.reader(t, other, 0)

			network := c.in.Through(t)
			distant := *c
			distant.Service = New(network.Router(t, postgres.RoleAPI), testSecrets("server"), Options{})
			trap := test.arm(network, t, testkit.CommitOf("INSERT INTO journal"))
			outcome := make(chan error, 2)
			write := func(by *coordinator, payload string) {
				_, err := by.tryWrite(t, slow, nil, "", payload)
				outcome <- err
			}
			go write(&distant, "slow")
			<-trap.Met()
			go write(c, "behind it")
			for i := range 10 {
				c.write(t, other, nil, "", fmt.Sprint(i))
			}
			readsOther.upTo(t, 11)
			if got, _ := readsSlow.now(); test.commits && len(got) > 1 {
				t.Errorf("%d entries were read before they were committed", len(got)-1)
			}
			trap.Release()
			failed := 0
			for range 2 {
				if err := <-outcome; err != nil {
					failed++
				}
			}
			if want := map[bool]int{true: 0, false: 1}[test.commits]; failed != want {
				t.Errorf("%d appends failed", failed)
			}
			c.expectFollowed(t, slow, 0, readsSlow)
			c.expectFollowed(t, other, 0, readsOther)
		})
	}
}

// L16, without any notification: what another process writes is found by the poll.
func TestFollow_FindsEverythingWithoutNotifications(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	deaf := c.polling(t, 20*time.Millisecond)
	world := c.world(t, "arena")
	r := deaf.reader(t, world, 0)
	for i := range 20 {
		c.write(t, world, nil, "", fmt.Sprint(i))
		if i%5 == 0 {
			r.upTo(t, int64(i+2))
		}
	}
	c.expectFollowed(t, world, 0, r)
}

// L16, a slow reader: it gets everything, in pages, when it comes for it.
func TestFollow_ASlowReaderGetsEverythingInPages(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	f, err := c.Follow(t.Context(), c.scope, world, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const requests, entries = 5, 200
	for i := range requests {
		request := Append{Entries: make([]AppendEntry, entries)}
		for k := range request.Entries {
			request.Entries[k].Payload = make([]byte, 2000+i)
		}
		if _, err := c.Append(t.Context(), c.scope, world, nil, request); err != nil {
			t.Fatal(err)
		}
	}
	position := int64(1)
	for position < 1+requests*entries {
		page, err := f.Next(t.Context(), time.Minute)
		if err != nil || len(page) == 0 {
			t.Fatalf("behind %d: %d entries, %v", position, len(page), err)
		}
		size := 0
		for _, e := range page {
			if position++; e.Position != position {
				t.Fatalf("entry %d came behind entry %d", e.Position, position-1)
			}
			size += len(e.Payload)
		}
		if len(page) > followedEntries || size > followedBytes+3000 {
			t.Errorf("a page has %d entries of %d bytes", len(page), size)
		}
	}
}

// L16, two quick reconnects: each goes on where the one before was.
func TestFollow_GoesOnBehindAnyPosition(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	for i := range 9 {
		c.write(t, world, nil, "", fmt.Sprint(i))
	}
	for after := range int64(10) {
		c.expectFollowed(t, world, after, c.reader(t, world, after))
	}
}

func TestFollow_EndsWithTheWorld(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	for name, process := range map[string]*coordinator{"told": c.polling(t, never), "by its poll": c.polling(t, 10*time.Millisecond)} {
		world := c.world(t, fmt.Sprint("arena-", len(name)))
		r := process.reader(t, world, 1)
		retiring := c
		if name == "told" {
			retiring = process
		}
		if err := retiring.RetireWorld(t.Context(), c.scope, world); err != nil {
			t.Fatal(err)
		}
		expectCode(t, r.ended(t), domain.KindNotFound, "world_not_found")
	}
}

func TestFollow_EndsWhenTheTenantIsSuspended(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	r := c.polling(t, 10*time.Millisecond).reader(t, c.world(t, "arena"), 1)
	suspended := tenancy.GateState{State: "suspended", Layout: domain.Layout, IdentityState: "open", Revision: 1}
	if err := tenancy.NewGates(c.router).Set(t.Context(), c.scope.Tenant, suspended); err != nil {
		t.Fatal(err)
	}
	expectCode(t, r.ended(t), domain.KindForbidden, "tenant_suspended")
}

func TestFollow_IsNoWayAroundTheTenant(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	other := newTenant(t, c)
	_, err := other.Follow(t.Context(), other.scope, world, 0)
	expectCode(t, err, domain.KindNotFound, "world_not_found")

	other.world(t, world)
	r := other.reader(t, world, 0)
	c.write(t, world, nil, "", "not yours")
	other.write(t, world, nil, "", "yours")
	if got := r.upTo(t, 2); string(got[1].Payload) != "yours" {
		t.Errorf("a reader of another tenant's world got %q", got[1].Payload)
	}
}

// newTenant is a principal of another tenant, at the same process.
func newTenant(t testing.TB, c *coordinator) *coordinator {
	t.Helper()
	other := *c
	other.scope.Tenant = domain.NewID[domain.TenantKind](time.Now())
	open := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open"}
	if err := tenancy.NewGates(c.router).Set(t.Context(), other.scope.Tenant, open); err != nil {
		t.Fatal(err)
	}
	return &other
}
