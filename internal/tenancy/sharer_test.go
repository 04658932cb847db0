package tenancy_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

var errPoison = errors.New("a statement failed")

func TestSharer_WhatArrivesWhileOneIsUnderWay_GoesOutTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		c.underWay(t, upTo(15)...)
		if diff := cmp.Diff([]int{1}, d.sizes()); diff != "" {
			t.Errorf("fifteen that wait are not worth a second transaction (-want +got)\n%s", diff)
		}
		c.more(t, 16)
		if diff := cmp.Diff([]int{1, 16}, d.sizes()); diff != "" {
			t.Errorf("sixteen are (-want +got)\n%s", diff)
		}
		c.more(t, numbersFrom(17, 300)...)
		if diff := cmp.Diff([]int{1, 16}, d.sizes()); diff != "" {
			t.Errorf("there is no third (-want +got)\n%s", diff)
		}
		close(d.begin)
		for asked, err := range c.wait() {
			if err != nil {
				t.Errorf("%d: %v", asked, err)
			}
		}
		sizes := d.sizes()
		slices.Sort(sizes[2:]) // the two that were under way end in either order
		if diff := cmp.Diff([]int{1, 16, 44, 256}, sizes); diff != "" {
			t.Errorf("decisions a transaction (-want +got)\n%s", diff)
		}
	})
}

func TestSharer_LoneCallerIsNotDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{}
		c := newCallers(d)
		began := time.Now()
		for range 3 {
			c.ask(t.Context(), t, 1)
			c.wait()
		}
		if waited := time.Since(began); waited > 0 || len(d.sizes()) != 3 {
			t.Errorf("three calls, one behind the other, took %v and %d transactions, want no time and 3", waited, len(d.sizes()))
		}
	})
}

func TestSharer_PoisonedDecisionFailsAlone(t *testing.T) {
	t.Parallel()
	failures := map[string]error{
		"a statement's error": errPoison,
		"a closed number":     domain.Unavailable("partition_unavailable", ""),
		"a locked row":        domain.Unavailable("database_busy", ""),
	}
	for name, failure := range failures {
		synctest.Test(t, func(t *testing.T) {
			d := &deciders{begin: make(chan struct{}), refuse: func(asked []int) error {
				if slices.Contains(asked, 3) {
					return failure
				}
				return nil
			}}
			c := newCallers(d)
			c.underWay(t, upTo(5)...)
			close(d.begin)
			for asked, err := range c.wait() {
				if want := asked == 3; errors.Is(err, failure) != want || (err != nil) != want {
					t.Errorf("%s, of the third: %d got %v", name, asked, err)
				}
			}
			sizes := d.sizes()
			slices.Sort(sizes)
			if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1, 5}, sizes); diff != "" {
				t.Errorf("%s: decisions a transaction, whatever their order (-want +got)\n%s", name, diff)
			}
		})
	}
}

// A failure that one decision can't have caused isn't tried again for each: that
// would only add to the trouble. And a commit of unknown outcome must not be.
func TestSharer_FailingDatabaseFailsEachCaller_Once(t *testing.T) {
	t.Parallel()
	failures := []error{
		domain.Unavailable("database_unavailable", ""),
		domain.Unavailable("process_outdated", ""),
		domain.Forbidden("tenant_suspended", ""),
		domain.OutcomeUnknown("outcome_unknown", ""),
	}
	for _, failure := range failures {
		synctest.Test(t, func(t *testing.T) {
			d := &deciders{begin: make(chan struct{}), refuse: func([]int) error { return failure }}
			c := newCallers(d)
			c.underWay(t, 1, 2, 3)
			close(d.begin)
			for asked, err := range c.wait() {
				if !errors.Is(err, failure) {
					t.Errorf("%d got %v, want %v", asked, err, failure)
				}
			}
			if diff := cmp.Diff([]int{1, 3}, d.sizes()); diff != "" {
				t.Errorf("%v: decisions a transaction (-want +got)\n%s", failure, diff)
			}
		})
	}
}

func TestSharer_CallerThatGoesAwayLeavesTheOthersAndItsDecision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		first, goAway := context.WithCancel(t.Context())
		c.ask(first, t, 1) // its transaction is under way
		synctest.Wait()
		waiting, goAwayToo := context.WithCancel(t.Context())
		c.ask(waiting, t, 2) // its transaction has yet to begin
		synctest.Wait()
		c.ask(t.Context(), t, 3)
		synctest.Wait()
		goAway()
		goAwayToo()
		synctest.Wait()
		c.mu.Lock()
		if len(c.errs) != 2 || !errors.Is(c.errs[1], context.Canceled) || !errors.Is(c.errs[2], context.Canceled) {
			t.Errorf("the callers that went away got %v, want their own cancellation at once", c.errs)
		}
		c.mu.Unlock()
		close(d.begin)
		if err := c.wait()[3]; err != nil {
			t.Errorf("the caller that stayed got %v", err)
		}
		if diff := cmp.Diff([][]int{{1}, {2, 3}}, d.transactions); diff != "" {
			t.Errorf("transactions (-want +got)\n%s", diff)
		}
	})
}

func TestSharer_RefusesMoreThanMayWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		c.underWay(t, upTo(16)...) // two transactions
		c.more(t, numbersFrom(17, 4096)...)
		began := time.Now()
		err := c.sharer.Do(t.Context(), c.db, c.tenant, &question{})
		wantCode(t, err, domain.KindUnavailable, "overloaded")
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the refusal took %v", waited)
		}
		// Others have a queue of their own.
		c.tenant = domain.RandomID[domain.TenantKind]()
		c.ask(t.Context(), t, 5000)
		synctest.Wait()
		close(d.begin)
		for asked, err := range c.wait() {
			if err != nil {
				t.Fatalf("%d got %v", asked, err)
			}
		}
		must(t, c.sharer.Do(t.Context(), c.db, c.tenant, &question{}))
	})
}

func TestSharer_TenantsAndDatabasesNeverShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		ask := func(asked int, db *postgres.Database, tenant domain.TenantID) {
			c.all.Go(func() {
				if err := c.sharer.Do(t.Context(), db, tenant, &question{asked: asked}); err != nil {
					t.Errorf("%d got %v", asked, err)
				}
			})
			synctest.Wait()
		}
		one, other := domain.RandomID[domain.TenantKind](), domain.RandomID[domain.TenantKind]()
		elsewhere := &postgres.Database{Name: "data2"}
		for _, round := range []int{0, 10} { // those of the second wait for those of the first
			ask(round+1, c.db, one)
			ask(round+2, c.db, other)
			ask(round+3, elsewhere, one)
		}
		close(d.begin)
		c.wait()
		// None waited for another tenant's, or another database's.
		if diff := cmp.Diff([][]int{{1}, {2}, {3}}, d.transactions[:3]); diff != "" {
			t.Errorf("the first three transactions (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 1}, d.sizes()); diff != "" {
			t.Errorf("decisions a transaction (-want +got)\n%s", diff)
		}
	})
}

// What waits for a lock that somebody keeps holds up its own decisions only.
func TestSharer_ASlowTransactionDoesNotHoldUpThoseBehindIt(t *testing.T) {
	t.Parallel()
	const patience, maxSlow = 100 * time.Millisecond, 8
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		c.underWay(t, upTo(3)...)
		time.Sleep(patience - time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]int{1}, d.sizes()); diff != "" {
			t.Errorf("within its time (-want +got)\n%s", diff)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if diff := cmp.Diff([]int{1, 3}, d.sizes()); diff != "" {
			t.Errorf("when it has outlasted patience (-want +got)\n%s", diff)
		}
		for n := range 20 {
			time.Sleep(patience)
			c.more(t, 100+n)
		}
		if got := len(d.sizes()); got != maxSlow {
			t.Errorf("%d transactions are under way, want %d at most", got, maxSlow)
		}
		close(d.begin)
		for asked, err := range c.wait() {
			if err != nil {
				t.Errorf("%d: %v", asked, err)
			}
		}
		sum := 0
		for _, size := range d.sizes() {
			sum += size
		}
		if sum != 24 {
			t.Errorf("%d decisions were made, want 24", sum)
		}
		c.ask(t.Context(), t, 999) // and it goes on as ever
		c.wait()
		if sizes := d.sizes(); sizes[len(sizes)-1] != 1 {
			t.Errorf("the next transaction has %d decisions", sizes[len(sizes)-1])
		}
	})
}
