package record

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// races are what callers of two processes may do to one another at the same time.
var races = map[string]func(t *testing.T, k *keeper, r racers){
	"same expectation": sameExpectationRace, "same creation": creationRace, "same operation": operationRace, "same fence": fenceRace,
	"same items": claimRace, "same completion": completionRace, "two completions": twoCompletionsRace, "beats and a completion": heartbeatRace,
}

func TestRaces_OfTwoProcesses(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for name, race := range races {
			t.Run(name, func(t *testing.T) { race(t, k, racers{[]*keeper{k, k.process(t, Options{})}, 1}) })
		}
	})
}

// No promise rests on the row locks alone: with them taken away every transaction
// compares what it saw, and one that comes too late stops and is asked for again.
func TestRaces_WithTheLocksOff(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for name, race := range races {
			t.Run(name, func(t *testing.T) { race(t, k, racers{[]*keeper{k.unlocked(t), k.unlocked(t)}, 50}) })
		}
	})
}

// unlocked is another process, whose decisions look without taking any lock.
func (k *keeper) unlocked(t *testing.T) *keeper {
	t.Helper()
	other := k.process(t, Options{})
	s := other.Service
	s.deciding = tenancy.NewSharer("unlocked", s.tracer, func(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*decision) error {
		f := newFlush(all)
		return tenancy.Run(ctx, db, s.entry(tenant, f.numbers...), func(ctx context.Context, tx *tenancy.Tx) error {
			f.look(tx, false)
			if err := tx.Send(ctx); err != nil {
				return err
			}
			f.setUp(s.limits, false)
			f.decide(s.valid)
			return f.write(ctx, tx)
		})
	})
	return other
}

// racers are processes, and how often each caller asks until it gets an answer: where
// locks are off, a transaction that comes too late has none.
type racers struct {
	processes []*keeper
	tries     int
}

const rounds = 8

// size is how many callers there are.
func (r racers) size() int { return 3 * len(r.processes) }

// race has every process do something several times at once.
func (r racers) race(do func(k *keeper, nth int) error) (errs []error) {
	errs = make([]error, r.size())
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			for range r.tries {
				errs[i] = do(r.processes[i%len(r.processes)], i)
				if kind := domain.KindOf(errs[i]); errs[i] == nil || kind != domain.KindInternal && kind != domain.KindUnavailable {
					return
				}
			}
		})
	}
	all.Wait()
	return errs
}

// expectOneWinner holds all but one racer to an error's code.
func expectOneWinner(t *testing.T, errs []error, code string) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case domain.CodeOf(err) != code:
			t.Errorf("a loser got %v, want %s", err, code)
		}
	}
	if won != 1 {
		t.Errorf("%d have won", won)
	}
}

func sameExpectationRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	k.publish(t, c, items("a", "0"))
	for round := range int64(rounds) {
		stands := DigestOf([]byte(k.body(t, c, "a", "items")))
		expect, code := Expectation{Revision: round + 1}, "revision_stale"
		if round%2 == 1 {
			expect, code = Expectation{Digests: map[string]*Digest{"items": &stands}}, "digest_mismatch"
		}
		errs := r.race(func(k *keeper, nth int) error {
			_, err := k.Publish(t.Context(), k.scope, c, nil, Publication{
				Key: "a", OperationID: fmt.Sprint(round, "/", nth), Expect: expect, Bodies: map[string][]byte{"items": []byte(fmt.Sprint(round, "/", nth))},
			})
			return err
		})
		expectOneWinner(t, errs, code)
	}
	if r, err := k.Record(t.Context(), k.scope, c, "a"); err != nil || r.Revision != rounds+1 || r.Sections[0].Sequence != rounds+1 {
		t.Errorf("%+v, %v", r, err)
	}
	k.expectSound(t, c)
}

func creationRace(t *testing.T, k *keeper, r racers) {
	name := fmt.Sprint("race-", k.names.Add(1))
	var made sync.Map
	errs := r.race(func(k *keeper, nth int) error {
		c, created, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: name})
		if made.Store(c.ID, true); err == nil && !created {
			err = errExists // somebody was faster, and it gets theirs
		}
		return err
	})
	expectOneWinner(t, errs, "record_exists")
	made.Range(func(id, _ any) bool {
		if c, err := k.Collection(t.Context(), k.scope, name); err != nil || id != c.ID {
			t.Errorf("somebody got %v, and there is %v, %v", id, c.ID, err)
		}
		return true
	})
	for round := range rounds {
		errs := r.race(func(k *keeper, nth int) error {
			p := items(fmt.Sprint("key-", round), fmt.Sprint(nth))
			p.OperationID = fmt.Sprint(round, "/", nth)
			_, err := k.Publish(t.Context(), k.scope, name, nil, p)
			return err
		})
		expectOneWinner(t, errs, "record_exists")
	}
	k.expectSound(t, name)
}

func operationRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	for round := range rounds {
		receipts := make([]Receipt, r.size())
		errs := r.race(func(k *keeper, nth int) (err error) {
			p := items("key", "the same")
			p.OperationID, p.Expect = fmt.Sprint("once-", round), Expectation{Fence: &Fence{"f", int64(round + 1)}}
			receipts[nth], err = k.Publish(t.Context(), k.scope, c, nil, p)
			return err
		})
		first := 0
		for i := range receipts {
			if errs[i] != nil {
				t.Error(errs[i])
			}
			if !receipts[i].Replayed {
				first++
			}
			receipts[i].Replayed = false
			if !cmp.Equal(receipts[i], receipts[0]) {
				t.Errorf("two receipts: %+v and %+v", receipts[i], receipts[0])
			}
		}
		if first != 1 {
			t.Errorf("%d made it", first)
		}
	}
	if r, err := k.Record(t.Context(), k.scope, c, "key"); err != nil || r.Revision != rounds {
		t.Errorf("%+v, %v", r, err)
	}
	k.expectSound(t, c)
}

// fenceRace has a producer's revisions come in any order, also some that change no
// section: the newest stands.
func fenceRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	k.publish(t, c, items("a", "0"))
	for round := range rounds {
		newest := int64(r.size())
		receipts := make([]Receipt, newest)
		errs := r.race(func(k *keeper, nth int) (err error) {
			p := Publication{Key: "a", OperationID: fmt.Sprint(round, "/", nth), Expect: Expectation{Fence: &Fence{fmt.Sprint("f", round), int64(nth + 1)}}}
			if round%2 == 0 {
				p.Tombstones = []string{"closed"} // which it hasn't
			} else {
				p.Bodies = map[string][]byte{"items": []byte(fmt.Sprint(nth))}
			}
			receipts[nth], err = k.Publish(t.Context(), k.scope, c, nil, p)
			return err
		})
		for i, err := range errs {
			if err != nil {
				t.Error(err)
			}
			revision, got := int64(i+1), receipts[i]
			if got.Outcome == Superseded && got.Fence.Revision <= revision || got.Outcome == Published && got.Fence.Revision != revision || got.Outcome == Deduplicated {
				t.Errorf("revision %d is %+v", revision, got)
			}
		}
		if receipts[newest-1].Outcome != Published {
			t.Errorf("the newest is %+v", receipts[newest-1])
		}
		var stands int64
		err := k.adminOf(c).QueryRow(t.Context(), `SELECT fence_revision FROM fences JOIN collections USING (tenant_id, number, collection_id) WHERE collection = $1 AND fence_key = $2`,
			c, fmt.Sprint("f", round)).Scan(&stands)
		if err != nil || stands != newest {
			t.Errorf("%d stands, %v", stands, err)
		}
		if round%2 == 1 {
			if got := k.body(t, c, "a", "items"); got != fmt.Sprint(newest-1) {
				t.Errorf("the newest is %d, and %q stands", newest-1, got)
			}
		}
	}
	k.expectSound(t, c)
}
