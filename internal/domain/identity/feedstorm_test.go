package identity

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Followers that read all the while, in pages of any size, see each event once,
// and each record's in the order of its revisions, whatever writes beside them:
// transactions of one number and of several, short ones and such as stay open,
// and some that are given up.
func TestFeed_WhileManyWriteAtRandom_IsSeenExactlyOnceAndInOrder(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var writers, followers sync.WaitGroup
	for i := range uint64(6) {
		writers.Go(func() { d.writeAtRandom(t, rand.New(rand.NewPCG(seed, i))) })
		writers.Go(func() { d.changeAtRandom(t, rand.New(rand.NewPCG(seed, 100+i)), int(i)) })
	}
	over := make(chan struct{})
	for i := range uint64(2) {
		followers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 200+i))
			f := d.follow()
			for written := false; !written; {
				select {
				case <-over:
					written = true
				default:
				}
				f.catchUp(t, 1+random.IntN(80))
			}
			f.expectSeen(t)
			f.expectRevisionsInOrder(t)
		})
	}
	writers.Wait()
	close(over)
	followers.Wait()
	d.checkInvariants(t, true)
}

// expectRevisionsInOrder holds each record's events to 1, 2, 3, …
func (f *follower) expectRevisionsInOrder(t testing.TB) {
	t.Helper()
	last := map[ref]int64{}
	events := 0
	for _, stream := range f.seen {
		for _, e := range stream {
			record := refTo(e.Family, e.Record)
			if e.Revision != last[record]+1 {
				t.Errorf("%s %s: revision %d was seen behind %d", e.Family, e.Record, e.Revision, last[record])
			}
			last[record] = e.Revision
			events++
		}
	}
	if events < 200 {
		t.Errorf("only %d events were seen", events)
	}
}

// recordIn names a record that there isn't, in a number.
func recordIn(n domain.Number) ref {
	for {
		if r := accountRef(domain.RandomID[domain.AccountKind]()); r.Number == n {
			return r
		}
	}
}

// writeAtRandom writes events of records of its own, several in a transaction,
// which stays open for a while behind them and is sometimes given up. They lie in
// the same few numbers as every other writer's. They are said to be gone, so that
// the invariants look for none.
func (d *directory) writeAtRandom(t *testing.T, random *rand.Rand) {
	var records []ref
	for _, n := range []domain.Number{1, 2, 3, 30, 31, 60} {
		records = append(records, recordIn(n))
	}
	revisions := map[ref]int64{}
	for range 60 {
		home := d.router.Database(records[random.IntN(len(records))].Number)
		var events []event
		for _, r := range records {
			if d.router.Database(r.Number) == home && random.IntN(2) == 0 {
				events = append(events, event{r, revisions[r] + 1, AccountDeleted, nil, Actor{Kind: ActorHoldfast}})
			}
		}
		if len(events) == 0 {
			continue
		}
		var numbers []int16
		for _, e := range events {
			numbers = append(numbers, int16(e.record.Number))
		}
		open, lost := random.IntN(4), random.IntN(5) == 0
		err := tenancy.Run(t.Context(), home, d.entry(d.scope.Tenant, numbers), func(ctx context.Context, tx *tenancy.Tx) error {
			queueEvents(tx, time.Now(), slices.Clone(events)...)
			for range open {
				var now time.Time
				tx.QueueNow(&now)
				if err := tx.Send(ctx); err != nil {
					return err
				}
			}
			if lost {
				return errCrash
			}
			return nil
		})
		switch {
		case lost && err == errCrash:
		case lost || err != nil:
			t.Errorf("write: %v", err)
		default:
			for _, e := range events {
				revisions[e.record] = e.revision
			}
		}
	}
}

// changeAtRandom makes accounts, changes them and deletes them.
func (d *directory) changeAtRandom(t *testing.T, random *rand.Rand, writer int) {
	var a Account
	for i := range 40 {
		var err error
		switch choice := random.IntN(10); {
		case a.ID.IsZero() || choice == 0:
			var made Created
			made, err = d.tryCreate(t.Context(), numbered("w-%d", 100*writer+i), "")
			a = made.Account
		case choice == 1:
			err = d.Delete(t.Context(), d.scope, a.ID, a.Revision)
			a = Account{}
		case choice == 2:
			a, err = d.tryChangeEmail(t.Context(), a.ID, numbered("w-%d@example.com", 100*writer+i))
		case choice == 3:
			a, err = d.RemoveEmail(t.Context(), d.scope, a.ID, nil)
		default:
			a, err = d.rename(t.Context(), a, numbered("name %d", i))
		}
		if err != nil {
			t.Errorf("change: %v", err)
		}
	}
}
