package tenancy_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Decisions share a transaction while they aren't too heavy together, and one that
// is too heavy by itself goes alone. No second transaction begins beside the first,
// whatever waits, before that has outlasted its patience.
func TestSharer_KeepsToItsLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		c.sharer.Limit(tenancy.Limits[question]{
			UnderWay: 1, Patience: time.Minute, Weight: 100, Weigh: func(q *question) int { return q.asked },
		})
		c.underWay(t, 1)
		for _, weight := range []int{60, 40, 1, 150, 99, 2} {
			c.ask(t.Context(), t, weight)
			synctest.Wait()
		}
		for light := range 20 {
			c.ask(t.Context(), t, -light)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := len(d.sizes()); got != 1 {
			t.Errorf("%d transactions are under way, want 1", got)
		}
		close(d.begin)
		c.wait()
		want := [][]int{{0}, {1, 60}, {40, 1}, {150}, {99}}
		if diff := cmp.Diff(want, d.transactions[:5]); diff != "" {
			t.Errorf("transactions (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int{1, 2, 2, 1, 1, 21}, d.sizes()); diff != "" {
			t.Errorf("decisions a transaction (-want +got)\n%s", diff)
		}
	})
}

func TestSharer_LetsAsManyWaitAsItsLimitsSay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &deciders{begin: make(chan struct{})}
		c := newCallers(d)
		c.sharer.Limit(tenancy.Limits[question]{UnderWay: 1, Patience: time.Minute, Waiting: 5000})
		c.underWay(t, numbersFrom(1, 5000)...)
		err := c.sharer.Do(t.Context(), c.db, c.tenant, &question{})
		wantCode(t, err, domain.KindUnavailable, "overloaded")
		close(d.begin)
		for asked, err := range c.wait() {
			if err != nil {
				t.Fatalf("%d got %v", asked, err)
			}
		}
	})
}
