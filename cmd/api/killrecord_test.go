package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const (
	recordKills       = 30 // unless HOLDFAST_TEST_KILLS says otherwise
	recordFleet       = 3  // processes
	recordPublishers  = 10
	recordKeys        = 12 // a collection
	recordsBetween    = 60 // calls between two kills, about
	recordStoreFaults = 0.05
)

// recordStorm is what all share who live through one.
type recordStorm struct {
	*stack
	seed        uint64
	fleet       *fleet
	tenant      customer
	collections []string // in both formats
	checker     *record.Service

	mu       sync.Mutex
	done     []*publishing          // that are settled
	sent     map[bodyPlace][]string // digests of bodies that somebody has tried to publish
	told     map[recordPlace]int64  // the highest revision that was acknowledged
	standing map[bodyPlace]bool     // sections that were acknowledged
	fences   int64
	unsure   int // answers that said to ask again, or didn't come
	replayed int // receipts that were of an earlier request
}

type (
	recordPlace struct{ collection, key string }
	bodyPlace   struct{ collection, key, section string }
)

// publishing is one publication, and what came of it in the end.
type publishing struct {
	collection string
	asked      holdfast.RecordPublication
	everything bool // it was a deletion
	receipt    holdfast.Receipt
	refusal    string // a code; "" for one that has a receipt
}

// Producers publish, delete and complete batches in both formats, and ask again
// under the same operation id, while their processes are killed under them, and one
// in twenty of the object store's answers is lost, late or wrong. Readers get whole
// bodies that were published there, followers of the exports miss nothing, and in
// the end there is just what was acknowledged.
func TestRecordStorm_WhateverIsKilled_WhatWasAcknowledgedIsThere(t *testing.T) {
	t.Parallel()
	s := newRecordStorm(t)
	var living sync.WaitGroup
	calm := func() { // before anything ends, however it does
		s.fleet.stop()
		living.Wait()
		s.fleet.starting.Wait()
	}
	defer calm()
	for n := range recordPublishers {
		living.Go(func() { s.newPublisher(t, n).run(t) })
	}
	for n := range 2 {
		living.Go(func() { s.readRecords(t, uint64(100+n)) })
	}
	var followers []*exportFollower
	for n, c := range s.collections {
		f := s.newExportFollower(t, c, n%2 == 0, uint64(200+n))
		followers = append(followers, f)
		living.Go(func() { f.run(t) })
	}
	living.Go(func() { s.checkRecordsAllTheWhile(t) })
	began := time.Now()
	kills, stalls := s.rage(t, rand.New(rand.NewPCG(s.seed, 0)))
	calm()
	t.Logf("%d kills, %d stalls and %d calls in %v", kills, stalls, s.fleet.progress(), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		return
	}
	s.judge(t, followers)
}

func newRecordStorm(t *testing.T) *recordStorm {
	t.Helper()
	s := &recordStorm{
		stack: newStack(t, 3), seed: rand.Uint64(),
		sent: map[bodyPlace][]string{}, told: map[recordPlace]int64{}, standing: map[bodyPlace]bool{},
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed was %d", s.seed)
		}
	})
	network := testkit.NewStoreFaults(t)
	for _, entry := range testkit.BodiesEnviron(network.Proxied(t, testkit.BodyStore(t))) {
		name, value, _ := strings.Cut(entry, "=")
		s.env[name] = value
	}
	router := s.installation.Router(t, postgres.RoleWorker)
	s.checker = record.New(router, lease.New(router, nil, lease.Options{}), testkit.OpenBodies(t, testkit.BodyStore(t)), record.Options{})
	s.fleet = newFleet(t, s.stack, recordFleet)
	s.makeCollections(t, s.fleet.member(0).running)
	network.AtRandom(s.seed, recordStoreFaults, testkit.Refuse(http.StatusServiceUnavailable, "SlowDown", 0),
		testkit.Refuse(http.StatusTooManyRequests, "TooManyRequests", 0), testkit.Refuse(http.StatusConflict, "OperationAborted", 0),
		testkit.LostAnswer(), testkit.LostRequest(), testkit.CutAt(0.5), testkit.ShortAnswer(0.5))
	return s
}

// makeCollections makes two at each format.
func (s *recordStorm) makeCollections(t *testing.T, first *running) {
	t.Helper()
	s.tenant = s.stack.tenant(t, first, "acme", tenancy.TenantScopes()...)
	client := connect(t, first, s.tenant.key)
	for _, format := range []int16{1, 2} {
		if _, err := s.operator(t, first).SetStorageWithResponse(t.Context(), s.tenant.id, holdfast.SetStorage{RecordFormat: format}); err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			name := fmt.Sprintf("storm-%d-%d", format, n)
			made, err := client.PutCollectionWithResponse(t.Context(), name, holdfast.NewCollection{})
			if err != nil || made.JSON201 == nil || made.JSON201.RecordFormat != format {
				t.Fatalf("make %s: %v", name, err)
			}
			s.collections = append(s.collections, name)
		}
	}
}

// rage kills a process each time that some calls have been answered, seldom two or
// all, and now and then lets one stall.
func (s *recordStorm) rage(t *testing.T, rng *rand.Rand) (kills, stalls int) {
	t.Helper()
	most := recordKills
	if text := os.Getenv("HOLDFAST_TEST_KILLS"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for kills < most && s.fleet.await(s.fleet.progress()+1+rng.Int64N(2*recordsBetween)) {
		victims := rng.Perm(recordFleet)
		if rng.IntN(5) == 0 {
			s.fleet.stall(victims[0], func() { s.checkRecords(t) })
			stalls++
			continue
		}
		switch rng.IntN(10) {
		case 0: // all
		case 1:
			victims = victims[:2]
		default:
			victims = victims[:1]
		}
		kills += s.fleet.kill(t, victims...)
	}
	return kills, stalls
}

// fault fails the test, and ends the storm.
func (s *recordStorm) fault(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf(format, args...)
	s.fleet.stop()
}

// asksAgain tells of an answer that didn't come, or that says to ask again.
func (s *recordStorm) asksAgain(err error) bool {
	again := err != nil && (leavesOpen(err) || mayRetry(err))
	if again {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsure++
	}
	return again
}

var errUnsettled = errors.New("still not settled after a minute")

// insist asks until it is told something that stands.
func (s *recordStorm) insist(ask func() error) error {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if err := ask(); !s.asksAgain(err) {
			return err
		}
	}
	return errUnsettled
}

// checkRecordsAllTheWhile runs the operators' check in the midst of it all: no
// honest state looks wrong to it.
func (s *recordStorm) checkRecordsAllTheWhile(t *testing.T) {
	for next := int64(0); s.fleet.await(next); next = s.fleet.progress() + 10*recordsBetween {
		s.checkRecords(t)
	}
}

func (s *recordStorm) checkRecords(t *testing.T) record.Census {
	t.Helper()
	tenant, err := domain.ParseID[domain.TenantKind](s.tenant.id)
	if err != nil {
		s.fault(t, "%v", err)
		return record.Census{}
	}
	census, err := s.checker.Check(t.Context(), tenant, record.Checking{Bodies: true, Found: func(v record.Violation) error {
		s.fault(t, "the check finds %+v", v)
		return nil
	}})
	if err != nil {
		s.fault(t, "check: %v", err)
	}
	return census
}
