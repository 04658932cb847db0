package record

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	stormDeeds     = 50 // a producer
	stormProducers = 8
	stormProcesses = 3
	stormKeys      = 10 // a collection
)

// storm is what all share who live through one.
type storm struct {
	*keeper
	seed        uint64
	processes   []networked
	collections []string // in both formats

	mu       sync.Mutex
	changed  *sync.Cond
	over     bool
	deeds    []*deed                  // that are settled
	unsure   int                      // answers that said to ask again
	sent     map[spot]map[Digest]bool // bodies that somebody has tried to publish
	told     map[itemSpot]int64       // the highest revision that was acknowledged
	standing map[spot]bool            // sections that were acknowledged
}

type (
	itemSpot struct{ collection, key string }
	spot     struct{ collection, key, section string }
)

// deed is one publication, and what came of it in the end.
type deed struct {
	collection string
	asked      Publication
	receipt    Receipt
	refusal    string // a code; "" for one that has a receipt
}

// Producers publish, delete and complete batches in both formats, each over any of
// several processes, while connections are cut, backends ended, databases refused,
// and one in twenty of the object store's answers is lost, late or wrong. Readers
// and followers look on. Whatever was told was so, and is so in the end.
func TestStorm_WhateverTheNetworksDo_WhatWasToldIsSo(t *testing.T) {
	t.Parallel()
	s := newStorm(t)
	var producing, watching sync.WaitGroup
	var followers []*stormFollower
	for n, c := range s.collections {
		f := s.newFollower(c, uint64(200+n), n%2 == 0)
		followers = append(followers, f)
		watching.Go(func() { f.run(t) })
	}
	for n := range 3 {
		watching.Go(func() { s.readOn(t, uint64(100+n)) })
	}
	watching.Go(func() { s.rage(t) })
	for n := range stormProducers {
		p := &producer{storm: s, name: fmt.Sprint("producer-", n), rng: rand.New(rand.NewPCG(s.seed, uint64(n)))}
		producing.Go(func() {
			for range stormDeeds {
				p.act(t)
			}
		})
	}
	producing.Wait()
	s.end()
	watching.Wait()
	s.judge(t)
	for _, f := range followers {
		f.expectAll(t)
	}
}

func newStorm(t *testing.T) *storm {
	s := &storm{
		keeper: newKeeper(t, FormatSQL), seed: rand.Uint64(),
		sent: map[spot]map[Digest]bool{}, told: map[itemSpot]int64{}, standing: map[spot]bool{},
	}
	s.changed = sync.NewCond(&s.mu)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed was %d", s.seed)
		}
	})
	for _, format := range []int16{FormatSQL, FormatStore} {
		s.begin(t, format)
		for n := range 2 {
			s.collections = append(s.collections, s.collection(t, fmt.Sprintf("storm-%d-%d", format, n)))
		}
	}
	for n := range stormProcesses {
		process := s.networked(t)
		process.faults.AtRandom(s.seed+uint64(n), 0.05, testkit.Refuse(http.StatusServiceUnavailable, "SlowDown", 0),
			testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests", 0), testkit.Refuse(http.StatusConflict, "OperationAborted", 0),
			testkit.LostAnswer(), testkit.LostRequest(), testkit.CutAt(0.5), testkit.ShortAnswer(0.5))
		s.processes = append(s.processes, process)
	}
	return s
}

// rage does something to a process's networks, or to a database, each time that
// some deeds are done.
func (s *storm) rage(t *testing.T) {
	rng := rand.New(rand.NewPCG(s.seed, 99))
	for next := 1; s.await(next); next += 1 + rng.IntN(8) {
		victim := s.processes[rng.IntN(len(s.processes))]
		c := s.collections[rng.IntN(len(s.collections))]
		switch rng.IntN(5) {
		case 0:
			s.endBackends(t, c)
		case 1: // for a while
			proxy := victim.proxyOf(c)
			proxy.Refuse()
			proxy.CutAll()
			s.await(next + 5)
			proxy.Accept()
		default:
			victim.proxyOf(c).CutAll()
		}
	}
}

// await returns once so many deeds are settled, or false when the storm is over.
func (s *storm) await(deeds int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.deeds) < deeds && !s.over {
		s.changed.Wait()
	}
	return !s.over
}

func (s *storm) progress() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.deeds)
}

func (s *storm) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.changed.Broadcast()
}

// send notes that the bodies of a publication may be read from now on.
func (s *storm) send(collection string, p *Publication) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for section, body := range p.Bodies {
		at := spot{collection, p.Key, section}
		if s.sent[at] == nil {
			s.sent[at] = map[Digest]bool{}
		}
		s.sent[at][DigestOf(body)] = true
	}
}

// settle notes what came of a publication in the end.
func (s *storm) settle(d *deed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deeds = append(s.deeds, d)
	if d.refusal == "" && d.receipt.Outcome == Published {
		at := itemSpot{d.collection, d.receipt.Key}
		s.told[at] = max(s.told[at], d.receipt.Revision)
		for _, c := range d.receipt.Changes {
			s.standing[spot{d.collection, d.receipt.Key, c.Section}] = true
		}
	}
	s.changed.Broadcast()
}

// insist asks one process after the other until it is told something that stands.
func (s *storm) insist(rng *rand.Rand, ask func(k *keeper) error) (err error) {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) {
		err = ask(s.processes[rng.IntN(len(s.processes))].keeper)
		if !passes(err) {
			return err
		}
		s.mu.Lock()
		s.unsure++
		s.mu.Unlock()
	}
	return fmt.Errorf("still after a minute: %w", err)
}

// passes tells of an error that says to ask again.
func passes(err error) bool {
	kind := domain.KindOf(err)
	return err != nil && (kind == domain.KindUnavailable || kind == domain.KindOutcomeUnknown)
}
