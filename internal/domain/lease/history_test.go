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

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
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
// out. Each world's history is linearizable; no write was accepted outside the lease
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
	switch s.random.IntN(6) {
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

// judge holds a history to the specification, and its journal to the history.
func (c *coordinator) judge(t *testing.T, h *history) {
	t.Helper()
	_, all := c.replay(t, h.arena)
	ids := ""
	written := map[string]journal.Entry{}
	for _, e := range all {
		if e.Kind != journal.KindEntry {
			continue
		}
		ids += e.EntryID + " "
		if _, twice := written[e.EntryID]; twice {
			t.Errorf("%s: entry %s is there twice", h.arena, e.EntryID)
		}
		written[e.EntryID] = e
		if _, acknowledged := h.receipts[e.EntryID]; !acknowledged && !h.doubtful[e.EntryID] {
			t.Errorf("%s: entry %s was refused, and is there at %d", h.arena, e.EntryID, e.Position)
		}
	}
	for id, receipt := range h.receipts {
		if e := written[id]; e.Position != receipt.Positions[0] || e.Hash != receipt.Hash || e.Epoch != receipt.Epoch {
			t.Errorf("%s: %s was acknowledged as %+v, and there is %+v", h.arena, id, receipt, e)
		}
	}
	expectInForce(t, h.arena, all)
	if told, _ := c.refusals(t, h.arena, all); told < h.refused || told > h.refused+h.lost {
		t.Errorf("%s: %d appends were refused, and of %d it is unknown; the journal tells of %d", h.arena, h.refused, h.lost, told)
	}

	end := int64(time.Since(h.began))
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: 9, Input: request{kind: "journal"}, Output: response{ids: ids}, Call: end, Return: end + 1,
	})
	if result := porcupine.CheckOperationsTimeout(specification, h.operations, time.Minute); result != porcupine.Ok {
		t.Errorf("%s: %s", h.arena, result)
		for _, operation := range h.operations {
			t.Logf("%d %d-%d %+v: %+v", operation.ClientId, operation.Call, operation.Return, operation.Input, operation.Output)
		}
	}
	t.Logf("%s: %d requests, %d of unknown outcome, %d entries in %d", h.arena, len(h.operations), h.unknown(), len(written), len(all))
}

func (h *history) unknown() (n int) {
	for _, operation := range h.operations {
		if operation.Output.(response).unknown {
			n++
		}
	}
	return n
}

// expectInForce finds each entry's writer anew, by the lease entries in front of it.
func expectInForce(t *testing.T, world string, all []journal.Entry) {
	t.Helper()
	writer, activated, epoch := journal.Coordinator, true, int64(1)
	var until time.Time
	for i := range all {
		e := &all[i]
		switch e.Kind {
		case journal.KindLeaseHandedOff:
			d := detailsOf[journal.HandedOff](t, e)
			writer, activated, until, epoch = d.To, d.To.IsCoordinator(), time.Time(d.ExpiresAt), epoch+1
		case journal.KindLeaseGranted:
			writer, activated, until, epoch = journal.Coordinator, true, time.Time{}, epoch+1
		case journal.KindLeaseActivated:
			activated = true
		case journal.KindLeaseRenewed:
			until = time.Time(detailsOf[journal.Renewed](t, e).ExpiresAt)
		case journal.KindEntry:
			hosted := writer.IsCoordinator()
			if e.Epoch != epoch || !activated || !hosted && (e.Actor != writer || !e.At.Before(until)) {
				t.Errorf("%s: entry %d of %v was accepted outside the lease of %v", world, e.Position, e.Actor, writer)
			}
		}
	}
}
