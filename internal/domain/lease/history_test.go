package lease

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	worldsAtOnce = 4 // histories that share two processes and their faults
	faultsEach   = 6
	askedBetween = 32 // requests from one fault to the next, in all worlds
)

// histories is how many are recorded: some, or as many as HOLDFAST_TEST_HISTORIES
// says.
func histories(t *testing.T) int {
	text := os.Getenv("HOLDFAST_TEST_HISTORIES")
	if text == "" {
		return 2 * worldsAtOnce
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HOLDFAST_TEST_HISTORIES is %q", text)
	}
	return n
}

// Two processes serve the same worlds while their connections are cut before and
// behind commits, their backends terminated, one of them is paused, and terms run
// out; and, where that may be, while the database is killed and comes back. Each world's history is linearizable; no write was accepted outside the lease
// in force, and none that was acknowledged is lost.
func TestHistoriesUnderFaults_AreLinearizable(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	// A process that is paused in a transaction keeps its heads for as long as this.
	c.everywhere(t, `DO $$ BEGIN
		EXECUTE format('ALTER ROLE `+postgres.RoleAPI+` IN DATABASE %I SET idle_in_transaction_session_timeout = ''1s''', current_database());
	END $$`)
	for seed := range (histories(t) + worldsAtOnce - 1) / worldsAtOnce {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { c.underFaults(t, uint64(seed)) })
	}
}

// underFaults records the histories of a few worlds, and judges them.
func (c *coordinator) underFaults(t *testing.T, seed uint64) {
	storm := &storm{coordinator: c, t: t, random: rand.New(rand.NewPCG(seed, 0)), ended: make(chan struct{}), over: make(chan struct{})}
	for range 2 {
		storm.processes = append(storm.processes, c.remote(t))
	}
	for i := range worldsAtOnce {
		storm.histories = append(storm.histories, newHistory(t, c.world(t, fmt.Sprintf("world-%d-%d", seed, i))))
	}
	storm.blow(seed)
	for _, process := range storm.processes {
		process.die() // nothing arrives late
	}
	for _, db := range c.router.Databases() {
		db.Pool.Reset() // our own backends were terminated too
	}
	for _, h := range storm.histories {
		c.judge(t, h)
	}
}

// storm is faults amid requests.
type storm struct {
	*coordinator
	t         *testing.T
	random    *rand.Rand
	processes []remote
	histories []*history
	ended     chan struct{} // a request
	over      chan struct{} // closed when no further request shall be made
}

// blow has clients make requests until all faults have been made.
func (s *storm) blow(seed uint64) {
	var clients sync.WaitGroup
	for w, h := range s.histories {
		for n, name := range []string{"a", "b", "a", "c"} {
			who := &client{
				coordinator: s.processes[n%2].as(name).coordinator, history: h, number: n, name: name,
				random: rand.New(rand.NewPCG(seed, uint64(1+w*10+n))),
			}
			clients.Go(func() { s.request(who) })
		}
	}
	for range faultsEach {
		s.await(askedBetween)
		s.fail()
	}
	s.await(askedBetween)
	close(s.over)
	clients.Wait()
}

func (s *storm) request(who *client) {
	for {
		who.act()
		select {
		case s.ended <- struct{}{}:
		case <-s.over:
			return
		}
	}
}

// await lets so many requests end.
func (s *storm) await(requests int) {
	for range requests {
		<-s.ended
	}
}

// fail makes one fault.
func (s *storm) fail() {
	process := s.processes[s.random.IntN(len(s.processes))]
	faults := 6
	if mayCrash() {
		faults++
	}
	switch s.random.IntN(faults) {
	case 0:
		s.awaitTrap(process.network.CutBefore(s.t, commitHeads).Met())
	case 1:
		s.awaitTrap(process.network.CutAfter(s.t, commitHeads).Met())
	case 2:
		s.terminate(s.t)
	case 3:
		for _, db := range s.router.Databases() {
			process.network.Proxy(db.Name).CutAll()
		}
	case 4:
		for _, db := range s.router.Databases() {
			process.network.Proxy(db.Name).Hold(s.t)
		}
		s.await(askedBetween) // of the other process
		for _, db := range s.router.Databases() {
			process.network.Proxy(db.Name).Resume()
		}
	case 6:
		s.crash()
	default:
		s.runOut()
	}
}

// awaitTrap lets requests go on until one has met it.
func (s *storm) awaitTrap(met <-chan struct{}) {
	for {
		select {
		case <-met:
			return
		case <-s.ended:
		}
	}
}

// runOut sets the clocks on by a term, which ends every lease.
func (s *storm) runOut() {
	called := map[*history]int64{}
	for _, h := range s.histories {
		called[h] = int64(time.Since(h.began))
	}
	s.advance(s.t, historyTerm)
	for _, h := range s.histories {
		h.mu.Lock()
		h.operations = append(h.operations, porcupine.Operation{
			ClientId: 9, Input: request{kind: "advance"}, Output: response{}, Call: called[h], Return: int64(time.Since(h.began)),
		})
		h.mu.Unlock()
	}
}
