package lease

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// A round costs one round trip for all followed worlds of a tenant on a database,
// however many follow them, and in most rounds none while nothing goes on.
func TestPoll_CostsOneRoundTripForManyFollowers(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	network := c.in.Through(t)
	distant := *c
	distant.router = network.Router(t, postgres.RoleAPI)
	distant.Service = New(distant.router, testSecrets("server"), Options{PollEvery: never})
	for i := range 30 {
		world := c.world(t, fmt.Sprint("world-", i))
		for range 3 {
			f, err := distant.Follow(t.Context(), c.scope, world, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
		}
	}
	rounds := func(n int) (trips int64) {
		for key, r := range distant.poller.rounds {
			before := network.Proxy(key.db.Name).RoundTrips()
			for range n {
				distant.poller.look(key, r)
			}
			trips += network.Proxy(key.db.Name).RoundTrips() - before
		}
		return trips
	}
	rounds(1) // prepares the statement, and finds out where the journals end
	databases := int64(len(c.router.Databases()))
	if trips := rounds(1); trips != databases {
		t.Errorf("a round over %d databases cost %d round trips", databases, trips)
	}
	rounds(2 * maxIdleRounds)
	if trips := rounds(10 * maxIdleRounds); trips > 10*databases {
		t.Errorf("%d idle rounds over %d databases cost %d round trips", 10*maxIdleRounds, databases, trips)
	}
}

func TestPoll_ForgetsWhatNobodyFollows(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	one, err := c.Follow(t.Context(), c.scope, world, 0)
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.Follow(t.Context(), c.scope, world, 0)
	if err != nil {
		t.Fatal(err)
	}
	one.Close()
	one.Close()
	if len(c.poller.rounds) != 1 || len(c.hub.topics) != 1 {
		t.Errorf("one of two followers left %d rounds and %d topics", len(c.poller.rounds), len(c.hub.topics))
	}
	two.Close()
	if len(c.poller.rounds) != 0 || len(c.hub.topics) != 0 {
		t.Errorf("both followers left %d rounds and %d topics", len(c.poller.rounds), len(c.hub.topics))
	}
}
