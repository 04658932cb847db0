package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// judge holds everything to what was told, when the storm is over: what the dead
// have left, what sweeps make of it, and what is left when all has had its time.
func (s *tempest) judge(t *testing.T, apps []*app, followers []*follower) {
	t.Helper()
	for i := range tempestSize {
		s.fleet.end(i)
	}
	if err := s.sweeper.stop(); err != nil {
		t.Errorf("the sweeper ended with %v", err)
	}
	s.expectNoWord(t)
	s.directory.awaitSilence(t)
	left := s.check(t)
	t.Logf("the dead have left %d operations, and %d claims that no record knows", left.Pending, left.Residue)

	s.directory.expire(t)
	swept := s.sweepAll(t)
	s.expectClean(t, "when all was swept")
	for i := range tempestSize {
		s.fleet.start(t, i)
	}
	s.fleet.starting.Wait()
	for _, p := range apps { // one after the other, so that nobody is in another's way
		p.settleAll(t)
	}
	s.eachApp(apps, func(p *app) { p.expectTrue(t) })
	s.expectNothingPending(t, apps[0])
	for _, f := range followers {
		f.expectAll(t)
	}
	s.expectRowsAsTold(t, apps)
	s.expectClean(t, "when all was settled")
	s.tell(t, apps, swept)

	s.passYears(t)
	for s.sweepAll(t) > 0 { // what waits for another task has its turn in the next round
	}
	census := s.expectClean(t, "when all has had its time")
	for _, r := range census.Records {
		if r.Family == domain.FamilyAccount && r.Status == "deleted" && r.Count > 0 {
			t.Errorf("%d tombstones are left that have had their time", r.Count)
		}
	}
	for _, p := range apps {
		p.outliveYears()
	}
	s.eachApp(apps, func(p *app) { p.expectTrue(t) })
}

func (s *tempest) eachApp(apps []*app, do func(*app)) {
	var all sync.WaitGroup
	for _, p := range apps {
		all.Go(func() { do(p) })
	}
	all.Wait()
}

// sweepAll takes every sweep and cleanup of every number to the end of its pass.
func (s *tempest) sweepAll(t *testing.T) (done int) {
	t.Helper()
	done, err := s.eachNumber(func(n domain.Number) (int, error) {
		return sweepNumber(t.Context(), s.service, s.database(n), n)
	})
	if err != nil {
		t.Fatalf("sweep: %v", err)
	}
	return done
}

// eachNumber does something in every number, several at once.
func (s *tempest) eachNumber(do func(domain.Number) (int, error)) (done int, err error) {
	var total atomic.Int64
	var doing errgroup.Group
	doing.SetLimit(2 * runtime.GOMAXPROCS(0))
	for n := range domain.Number(domain.Numbers) {
		doing.Go(func() error {
			done, err := do(n)
			total.Add(int64(done))
			return err
		})
	}
	err = doing.Wait()
	return int(total.Load()), err
}

// expectClean: every claim is an account's, a live code's or a quarantined
// handle's, and no operation stands.
func (s *tempest) expectClean(t *testing.T, when string) identity.Census {
	t.Helper()
	s.directory.check(t, when, true)
	census := s.check(t)
	if census.Violations+census.Residue+census.Pending > 0 {
		t.Errorf("%s: %+v", when, census)
	}
	return census
}

func (s *tempest) expectNothingPending(t *testing.T, p *app) {
	t.Helper()
	recovery, err := p.client.GetRecoveryWithResponse(t.Context())
	if err != nil || recovery.JSON200.Pending != 0 {
		t.Errorf("the recovery still has %+v to do, %v", recovery, err)
	}
}

// settleAll finds out what was left open. Nothing is on its way any more, so the
// first answer tells.
func (p *app) settleAll(t *testing.T) {
	for _, f := range p.files {
		if f.asked {
			p.send(t, f)
		}
	}
	for _, a := range p.accounts {
		p.settleAtLast(t, a)
	}
	for _, d := range p.devices {
		if d.outcome == unknown {
			p.makeDevice(t, d)
		}
		if d.outcome == made && p.readDevice(t, d) == nil {
			d.open = nil // what doesn't show wasn't made
		}
		if d.outcome == unknown {
			p.fault(t, d, "it isn't settled by a process that lives")
		}
	}
}

func (p *app) settleAtLast(t *testing.T, a *account) {
	switch {
	case a.outcome == unknown && a.key != "":
		p.create(t, a)
	case a.outcome == unknown && !a.imported:
		if p.findLost(t, a); a.outcome == unknown {
			p.forsake(a)
		}
	}
	for len(a.open) > 0 && a.outcome == made {
		c, before := a.open[0], len(a.open)
		p.hear(t, a, p.ask(t, a, c))
		if len(a.open) == before {
			break
		}
	}
	if a.outcome == unknown || len(a.open) > 0 {
		p.fault(t, a, "it isn't settled by a process that lives")
	}
}

// expectTrue holds every account and device of the application's to what was
// acknowledged of it.
func (p *app) expectTrue(t *testing.T) {
	for _, a := range p.accounts {
		if a.outcome != made {
			continue
		}
		p.read(t, a)
		if a.stays() {
			p.lookUp(t, p.client, holdfast.LookupKey{Handle: &a.wish.Handle})
		}
		if a.told.email != "" {
			p.lookUp(t, p.client, holdfast.LookupKey{Email: &a.told.email})
		}
	}
	for _, d := range p.devices {
		switch {
		case d.outcome != made:
		case d.imported:
			p.readDevice(t, d)
		case d.told.denied, d.told.redeemed, d.told.revoked, d.orphaned(), d.mayBeBarred():
			p.poll(t, d) // in vain
			p.readDevice(t, d)
		default:
			p.readDevice(t, d)
		}
	}
}

// expectRowsAsTold: what was made is there once, and nothing else is.
func (s *tempest) expectRowsAsTold(t *testing.T, apps []*app) {
	t.Helper()
	want := map[string]bool{}
	for _, p := range apps {
		for _, a := range p.accounts {
			if a.stays() {
				want[*a.wish.DisplayName] = true
			}
		}
	}
	for _, name := range words(t, s.directory, `SELECT coalesce(display_name, '') FROM accounts WHERE status <> 'deleted'`) {
		if !want[name] {
			t.Errorf("%q is there twice, or its caller was told that it isn't", name)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%q was made, and isn't there", name)
	}
}

// tell counts what came of it all, and holds it to having been a storm.
func (s *tempest) tell(t *testing.T, apps []*app, swept int) {
	t.Helper()
	count := map[string]int{"swept": swept}
	for _, p := range apps {
		for _, a := range p.accounts {
			count[[]string{"untried", "unknown", "refused", "made"}[a.outcome]+" accounts"]++
			if a.told.deleted {
				count["deleted accounts"]++
			}
		}
		for _, d := range p.devices {
			if d.outcome != made {
				continue
			}
			count["devices"]++
			for what, is := range map[string]bool{"approved": d.told.account != "", "denied": d.told.denied, "redeemed": d.told.redeemed, "revoked": d.told.revoked} {
				if is {
					count[what+" devices"]++
				}
			}
		}
		count["imports"] += len(p.files)
	}
	t.Logf("%v", count)
	for _, what := range []string{"swept", "made accounts", "refused accounts", "deleted accounts", "approved devices", "redeemed devices", "imports"} {
		if count[what] == 0 {
			t.Errorf("that was no storm: no %s", what)
		}
	}
}

// database is where a number lies.
func (s *tempest) database(n domain.Number) string {
	return s.installation.Settings(postgres.RoleWorker).Placement[n]
}
