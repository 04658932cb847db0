package identity

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// TestCleanup_KilledAnywhere_IsFinishedByTheNext lets a worker die at every point
// that it reaches in every scenario. Another then makes of it what had been made
// without a death.
func TestCleanup_KilledAnywhere_IsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	everyInterruption(t, func(t *testing.T, w *workshop, sc scenario, at *crashAt) {
		err := w.clean(t, w.worker(Options{Faults: at}), sc.task)
		if struck := at.reached[at.point] == at.nth; struck != errors.Is(err, errCrash) {
			t.Fatalf("the worker ended with %v, and reached the point %d times", err, at.reached[at.point])
		}
		w.expectKeysClaimed(t)
		// A link that was in doubt is decided by a task of its own.
		w.mustClean(t, CleanDoubtfulLinks)
		w.passes = 3 // of which the first goes on where the death was
		w.mustClean(t, sc.task)
	})
}

// clearUnowned does the sweep's part: it removes the claims of devices that are
// gone.
func (w *workshop) clearUnowned(t *testing.T) {
	t.Helper()
	devices := map[ref]bool{}
	for _, d := range w.deviceRows(t) {
		devices[deviceRef(d.ID)] = true
	}
	for _, c := range w.claimRows(t) {
		if c.tenant == w.scope.Tenant && c.claim.owner.Family == domain.FamilyDevice && !devices[c.claim.owner] {
			if _, _, err := w.clear(t.Context(), c.tenant, &c.claim); err != nil {
				t.Error(err)
			}
		}
	}
}

// expectKeysClaimed says that no record holds a key that isn't claimed by it.
func (w *workshop) expectKeysClaimed(t *testing.T) {
	t.Helper()
	_, err := w.Check(t.Context(), w.scope.Tenant, func(v Violation) error {
		if v.Kind == KeyUnclaimed {
			t.Errorf("%s: %+v", v.Kind, v)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCleanup_OvertakenAnywhere_DoesNothingTwice stops a worker at every point and
// lets another do all of its work meanwhile.
func TestCleanup_OvertakenAnywhere_DoesNothingTwice(t *testing.T) {
	t.Parallel()
	everyInterruption(t, func(t *testing.T, w *workshop, sc scenario, at *crashAt) {
		slow := &overtake{at, func() { w.mustClean(t, sc.task) }}
		if err := w.clean(t, w.worker(Options{Faults: slow}), sc.task); err != nil {
			t.Fatal(err)
		}
	})
}

// overtake acts where crashAt would die.
type overtake struct {
	*crashAt
	by func()
}

func (o *overtake) Reach(ctx context.Context, point string) error {
	if o.crashAt.Reach(ctx, point) != nil {
		o.by()
	}
	return nil
}

// everyInterruption runs each scenario once, to count how often it reaches each
// point, and then once for each of those with an interruption there. All of them
// end as the scenario wants. (How often a point is reached depends a little on
// chance, since records share numbers.)
func everyInterruption(t *testing.T, interrupt func(*testing.T, *workshop, scenario, *crashAt)) {
	w := newWorkshop(t)
	w.pageLimit = 1
	covered := map[string]int{}
	for _, sc := range scenarios {
		whole := w.forTenant(t)
		sc.prepare(t, whole)
		sc.ripe(t, whole)
		counting := &crashAt{}
		if err := whole.clean(t, whole.worker(Options{Faults: counting}), sc.task); err != nil {
			t.Fatal(err)
		}
		for point, times := range counting.reached {
			covered[point] += times
			for nth := range min(times, 2) {
				t.Run(numbered(sc.name+" at "+point+"-%d", nth+1), func(t *testing.T) {
					w := w.forTenant(t)
					sc.prepare(t, w)
					before := sc.ripe(t, w)
					interrupt(t, w, sc, &crashAt{point: point, nth: nth + 1})
					diff := cmp.Diff(sc.want, w.since(t, before))
					if diff != "" {
						w.clearUnowned(t)
						diff = cmp.Diff(sc.want, w.since(t, before))
					}
					if diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
		}
	}
	for _, point := range points(t) {
		if strings.HasPrefix(point, "cleanup ") && covered[point] == 0 {
			t.Errorf("point %q is never reached by any scenario", point)
		}
	}
}
