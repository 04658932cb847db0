package lease

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func TestBandOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rate float64
		wait time.Duration
		want Band
	}{
		{0, 0, BandNone},
		{199, 49 * time.Millisecond, BandNone},
		{200, 0, BandWarning},
		{999, 0, BandWarning},
		{1000, 0, BandHot},
		{10, 50 * time.Millisecond, BandWarning},
		{10, 249 * time.Millisecond, BandWarning},
		{10, 250 * time.Millisecond, BandHot},
		{0.5, time.Hour, BandNone}, // too few to tell
	} {
		if got := bandOf(test.rate, test.wait); got != test.want {
			t.Errorf("%g a second, waiting %v: %s, want %s", test.rate, test.wait, got, test.want)
		}
	}
}

// A world gets hot, is advised about once, and cools down.
func TestJudge_FollowsAWorldThroughItsHeat(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	r := &heatRow{band: BandNone, since: now, measuredAt: now}
	minute := func(appends int64) string {
		r.appends, r.waited = appends, 0
		now = now.Add(heatWindow)
		r.judge(now)
		advice := r.advice()
		r.spillAdvised = r.spillAdvised || advice == AdviseSpill
		return fmt.Sprintf("%s for %v, %s", r.band, now.Sub(r.since), advice)
	}
	var got []string
	for _, appends := range []int64{600, 60_000, 60_000, 12_000, 60_000, 0} {
		got = append(got, minute(appends))
	}
	want := []string{
		"none for 1m0s, ", "hot for 0s, spill", "hot for 1m0s, ", "warning for 0s, ", "hot for 0s, ", "none for 0s, ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bands (-want +got):\n%s", diff)
	}
	for range 59 {
		if advice := minute(0); advice == "" || r.advice() != "" {
			t.Errorf("within the hour it is %s", advice)
		}
	}
	if got := minute(0); got != "none for 1h0m0s, handback" {
		t.Errorf("an hour later it is %s", got)
	}
	if got := minute(60_000); got != "hot for 0s, spill" {
		t.Errorf("when it gets hot again it is %s", got)
	}
}

// beat has processes count so many appends of a world for a window, and the worker
// judge them.
func (c *coordinator) beat(t testing.TB, w *coordinator, world string, processes []*coordinator, appends int) {
	t.Helper()
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	c.advance(t, heatWindow)
	for _, p := range processes {
		p.heat.count(c.scope.Tenant, ref, appends/len(processes), time.Now())
		if err := p.ShareHeat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(t, heatWindow)
	w.sweep(t, TaskHeat, 10)
}

func (c *coordinator) expectBand(t testing.TB, world string, want Band) Heat {
	t.Helper()
	heat, err := c.Heat(t.Context(), c.scope, world)
	if err != nil || heat.Band != want {
		t.Errorf("the heat is %+v, %v, want %s", heat, err, want)
	}
	return heat
}

// advices are those in a world's journal.
func (c *coordinator) advices(t testing.TB, world string) (all []journal.Advice) {
	t.Helper()
	_, entries := c.replay(t, world)
	for i := range entries {
		if entries[i].Kind == journal.KindAdvice {
			details, err := journal.DetailsOf[journal.Advice](&entries[i])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, details)
		}
	}
	return all
}

func TestHeat_ProcessesAddUpAndASpillIsAdvisedOnce(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	w, both := c.sweeper(t), []*coordinator{c.process(t), c.process(t)}
	c.expectBand(t, world, BandNone)
	const window = 2 * 60 // seconds, of beat
	c.beat(t, w, world, both, 300*60)
	c.beat(t, w, world, both, 300*window)
	if heat := c.expectBand(t, world, BandWarning); heat.Rate < 250 || heat.Rate > 301 || heat.Advice != "" {
		t.Errorf("%g a second are measured of 300, and %q is advised", heat.Rate, heat.Advice)
	}
	if got := c.advices(t, world); len(got) > 0 {
		t.Errorf("a warning is advised about: %v", got)
	}
	for range 3 {
		c.beat(t, w, world, both, 1100*window)
	}
	if heat := c.expectBand(t, world, BandHot); heat.Advice != AdviseSpill {
		t.Errorf("the advice is %q", heat.Advice)
	}
	if got, want := c.advices(t, world), []journal.Advice{{Band: "hot", Advise: AdviseSpill}}; !slices.Equal(got, want) {
		t.Errorf("advised was %v, want %v", got, want)
	}
}

func TestHeat_AHandbackIsAdvisedWhenAnHourWasCalmAndTheWorldIsForgotten(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	held, hosted, unasked := c.world(t, "held"), c.world(t, "hosted"), c.world(t, "unasked")
	if _, err := c.CreateWorld(t.Context(), c.scope, "silent", Policy{}); err != nil {
		t.Fatal(err)
	}
	w, one := c.sweeper(t), []*coordinator{c.process(t)}
	for _, world := range []string{held, hosted, "silent"} {
		c.beat(t, w, world, one, 100)
	}
	for _, world := range []string{held, unasked, "silent"} {
		if _, err := a.Acquire(t.Context(), a.scope, world, Acquire{RequestID: "r", Term: MaxTerm, Replay: MaxReplay}); err != nil {
			t.Fatal(err)
		}
	}
	c.expectRows(t, 3, `SELECT count(*) FROM world_heat`)
	c.advance(t, heatWindow)
	w.sweep(t, TaskHeat, 10)
	if got, heat := c.advices(t, held), c.expectBand(t, held, BandNone); len(got) > 0 || heat.Advice != "" {
		t.Errorf("within the hour %v is advised, and %q", got, heat.Advice)
	}
	// The hour is over, and the leases still stand.
	c.everywhere(t, `UPDATE world_heat SET since = since - interval '1 hour'`)
	c.advance(t, heatWindow)
	w.sweep(t, TaskHeat, 10)
	if got, want := c.advices(t, held), []journal.Advice{{Band: "none", Advise: AdviseHandback}}; !slices.Equal(got, want) {
		t.Errorf("advised was %v, want %v", got, want)
	}
	for _, world := range []string{hosted, unasked, "silent"} {
		if got := c.advices(t, world); len(got) > 0 {
			t.Errorf("%s is advised: %v", world, got)
		}
	}
	c.expectRows(t, 0, `SELECT count(*) FROM world_heat`)
	if heat := c.expectBand(t, held, BandNone); !heat.Since.IsZero() {
		t.Errorf("a world that nobody watches is calm since %v", heat.Since)
	}
	for world, want := range map[string]string{held: AdviseHandback, unasked: AdviseHandback, hosted: "", "silent": ""} {
		if heat := c.expectBand(t, world, BandNone); heat.Advice != want {
			t.Errorf("%s is advised %q, want %q", world, heat.Advice, want)
		}
	}
}

// Appends are counted with the time until they are committed; refused and repeated
// ones aren't.
func TestHeat_CountsWhatIsAppended(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	c.write(t, world, nil, "one", "x")
	c.write(t, world, nil, "one", "x")
	c.tryWrite(t, world, &Authority{Epoch: 7}, "", "fenced")
	c.write(t, world, nil, "", "y")
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	counted := c.heat.counts[ref.number].worlds[heatKey{c.scope.Tenant, ref}]
	if counted == nil || counted.appends != 2 || counted.waited <= 0 {
		t.Errorf("counted are %+v", counted)
	}
}

func TestHeat_OnlyTheBusiestAreShared(t *testing.T) {
	t.Parallel()
	h := newThermometer()
	tenant := domain.NewID[domain.TenantKind](time.Now())
	const number domain.Number = 7
	for i := range maxCounted + 100 {
		h.count(tenant, worldRef{number, fmt.Sprint("busy-", i)}, worthAppend+i, time.Now())
	}
	if n := len(h.counts[number].worlds); n != maxCounted {
		t.Errorf("%d worlds are counted, want %d", n, maxCounted)
	}
	if n := len(h.take([]domain.Number{number})); n != maxShared {
		t.Errorf("%d worlds are shared, want %d", n, maxShared)
	}
	h.count(tenant, worldRef{number, "quiet"}, worthAppend-1, time.Now())
	h.count(tenant, worldRef{number, "slow"}, worthFew, time.Now().Add(-worthWait))
	h.count(tenant, worldRef{number, "seldom"}, worthFew-1, time.Now().Add(-time.Hour))
	worth := h.take([]domain.Number{number})
	if len(worth) != 1 || worth[0].key.world.id != "slow" {
		t.Errorf("shared are %v", worth)
	}
}

// Who adds while a number is closed, since it has moved away, leaves no row behind.
func TestHeat_NothingIsAddedToAClosedNumber(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	c.heat.count(c.scope.Tenant, ref, 1000, time.Now())
	c.everywhere(t, `UPDATE number_gates SET state = 'closed'`)
	if err := c.ShareHeat(t.Context()); err != nil {
		t.Error(err)
	}
	c.expectRows(t, 0, `SELECT count(*) FROM world_heat`)
}
