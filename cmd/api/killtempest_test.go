package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	tempestKills = 50 // unless HOLDFAST_TEST_KILLS says otherwise
	tempestSize  = 3  // processes
	tempestApps  = 16

	callsBetween = 30 // two kills, about

	// longestAnswer is how long anybody waits for one. None should come close.
	longestAnswer = 30 * time.Second
)

// tempest is what all share who live through one.
type tempest struct {
	*stack
	seed      uint64
	directory *directory
	tenant    customer
	tv        string // the id of the devices' public client
	fleet     *fleet
	sweeper   *sweeper
	service   *identity.Service // a worker's, in the test's own process
	ledger    *ledger
	aging     aging
	wishes    atomic.Int64 // names that were used

	mu     sync.Mutex
	faults int
}

// Applications do everything that there is to do with a directory, contending for
// the same keys, while its processes and the sweeper's are killed again and
// again. What each was told is true, then and at the end; and in the end nothing
// is left that belongs to nobody.
func TestStorm_WhateverIsKilled_WhatWasToldIsTrueAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := newTempest(t)
	var apps []*app
	for i := range tempestApps {
		apps = append(apps, s.newApp(t, 1+i))
	}
	followers := []*follower{s.newFollower(t, 7), s.newFollower(t, 200)}

	var living sync.WaitGroup
	calm := func() { // before anything ends, however it does
		s.fleet.stop()
		living.Wait()
		s.fleet.starting.Wait()
	}
	defer calm()
	for _, p := range apps {
		living.Go(func() { p.run(t) })
	}
	for _, f := range followers {
		living.Go(func() { f.run(t) })
	}
	living.Go(func() { s.newHistorian(t).run(t) })
	living.Go(func() { s.walkAccounts(t) })
	living.Go(func() { s.watchKeys(t, 1) })
	living.Go(func() { s.watchKeys(t, 2) })
	living.Go(func() { s.checkAllTheWhile(t) })
	began := time.Now()
	kills, stalls := s.rage(t, rand.New(rand.NewPCG(s.seed, 0)))
	calm()
	t.Logf("%d kills, %d stalls and %d calls in %v", kills, stalls, s.fleet.progress(), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		return
	}
	s.judge(t, apps, followers)
}

func newTempest(t *testing.T) *tempest {
	t.Helper()
	s := &tempest{stack: newStack(t, 3), seed: rand.Uint64(), ledger: newLedger()}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed was %d, and %d things were wrong", s.seed, s.faults)
		}
	})
	s.directory = openDirectory(t, s.installation)
	s.service = identity.New(s.installation.Router(t, postgres.RoleWorker), nil, identity.Options{})
	s.sweeper = s.spawnSweeper(t)
	s.fleet = newFleet(t, s.stack, tempestSize)
	s.fleet.fault = func(format string, args ...any) { s.fault(t, nil, format, args...) }
	first := s.fleet.member(0).running
	s.tenant = s.stack.tenant(t, first, "acme")
	made, err := s.operator(t, first).CreateClientWithResponse(t.Context(), s.tenant.id, nil,
		holdfast.NewPublicClient{Name: "tv", Scopes: ptr([]string{"play"}), VerificationURI: "https://example.com/device"})
	if err != nil {
		t.Fatal(err)
	}
	s.tv = made.JSON201.ID
	return s
}

// rage kills: each time that some calls have been answered, one process, seldom
// two or all, and now and then the sweeper. In between it lets one stall.
func (s *tempest) rage(t *testing.T, rng *rand.Rand) (kills, stalls int) {
	t.Helper()
	most := tempestKills
	if text := os.Getenv("HOLDFAST_TEST_KILLS"); text != "" {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for kills < most && s.fleet.await(0) {
		for range 1 + rng.IntN(5) {
			s.fleet.await(s.fleet.progress() + 1 + rng.Int64N(2*callsBetween/3))
			s.sweeper.demand.Write([]byte{0})
		}
		victims := rng.Perm(tempestSize)
		if rng.IntN(4) == 0 {
			s.fleet.stall(victims[0], func() { s.outrun(t) })
			stalls++
			continue
		}
		switch rng.IntN(12) {
		case 0: // all
		case 1:
			victims = victims[:2]
		default:
			victims = victims[:1]
		}
		if rng.IntN(10) == 0 {
			s.expectNoWord(t)
			s.sweeper.kill()
			s.sweeper = s.spawnSweeper(t)
		}
		if kills += s.fleet.kill(t, victims...); rng.IntN(4) == 0 {
			s.passTime(t)
		}
	}
	return kills, stalls
}

// outrun makes every operation overdue that is prepared, and recovers it: what a
// process that has stalled was at is undone behind its back.
func (s *tempest) outrun(t *testing.T) {
	t.Helper()
	s.everywhere(t, sqlAllOverdue)
	if _, err := s.eachNumber(func(n domain.Number) (int, error) {
		return takeAll(sweepsOfOperations(t.Context(), s.service, s.database(n), n))
	}); passing(err) != nil {
		s.fault(t, nil, "recover what has stalled: %v", err)
	}
}

// sqlAllOverdue leaves out what the stalled process has locked, which it is about
// to commit.
const sqlAllOverdue = `
UPDATE operations o SET deadline = clock_timestamp() - interval '1 hour'
  FROM (SELECT tenant_id, number, family, record_id FROM operations WHERE state = 'prepared' FOR UPDATE SKIP LOCKED) p
 WHERE o.tenant_id = p.tenant_id AND o.number = p.number AND o.family = p.family AND o.record_id = p.record_id`

// expectNoWord holds the sweeper to never having failed at anything.
func (s *tempest) expectNoWord(t *testing.T) {
	t.Helper()
	if log := s.sweeper.log.String(); log != "" {
		s.fault(t, nil, "the sweeper says: %s", log)
	}
}

// watchKeys looks up keys that applications want: whoever has one, and nobody
// else, is found.
func (s *tempest) watchKeys(t *testing.T, name uint64) {
	client := door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key)
	rng := rand.New(rand.NewPCG(s.seed, 2000+name))
	for next := int64(0); s.fleet.await(next); next = s.fleet.progress() + 3 {
		s.lookUp(t, client, s.anyKey(rng))
	}
}

func (s *tempest) anyKey(rng *rand.Rand) holdfast.LookupKey {
	if rng.IntN(2) == 0 {
		return holdfast.LookupKey{Email: ptr(wildEmail(rng))}
	}
	return holdfast.LookupKey{Handle: ptr(wildHandle(max(0, s.wishes.Load()-rng.Int64N(200))))}
}

// checkAllTheWhile runs the operators' check in the midst of it all: no honest
// state looks wrong to it.
func (s *tempest) checkAllTheWhile(t *testing.T) {
	for next := int64(0); s.fleet.await(next); next = s.fleet.progress() + 10*callsBetween {
		s.check(t)
	}
}

// check gives what the check counts, and fails the test with what it finds.
func (s *tempest) check(t *testing.T) identity.Census {
	t.Helper()
	tenant, err := domain.ParseID[domain.TenantKind](s.tenant.id)
	if err != nil {
		s.fault(t, nil, "%v", err)
		return identity.Census{}
	}
	census, err := s.service.Check(t.Context(), tenant, func(v identity.Violation) error {
		s.fault(t, recordSubject(v.Record.String()), "the check finds %+v", v)
		return nil
	})
	if err != nil {
		s.fault(t, nil, "check: %v", err)
	}
	return census
}
