package lease

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// L19: the process is killed with counts that are not journaled, and the loop goes
// on at another.
func TestAFencedClientInALoop_LeavesFewEntriesAndTheExactCount(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, killed := c.as("a"), c.remote(t).as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Fatal(err)
	}
	const attempts, callers = 10_000, 100
	for _, process := range []*coordinator{killed.coordinator, a} {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				for range attempts / callers / 2 {
					_, err := process.tryWrite(t, world, &lease, "", "late")
					expectCode(t, err, domain.KindConflict, "fenced")
				}
			})
		}
		all.Wait()
		killed.die()
	}
	c.advance(t, coalesce)
	c.write(t, world, nil, "", "whatever comes next")

	state, entries := c.replay(t, world)
	told, lines := c.refusals(t, world, entries)
	if told != attempts {
		t.Errorf("%d attempts are told of, want %d", told, attempts)
	}
	// One at once, one at most every ten seconds, and the last.
	if most := int(state.LastAt.Sub(entries[0].At)/coalesce) + 2; lines > most {
		t.Errorf("%d entries tell of them, want at most %d", lines, most)
	}
	if left := c.beside(t, world); len(left) > 0 {
		t.Errorf("left beside the head: %v", left)
	}
}

// refusals adds up what a journal, and the counts beside its head, tell of refused
// appends. It gives the number of entries that do.
func (c *coordinator) refusals(t testing.TB, world string, all []journal.Entry) (told int64, entries int) {
	t.Helper()
	for i := range all {
		if all[i].Kind == journal.KindAppendRejected {
			told += detailsOf[journal.Rejected](t, &all[i]).Count
			entries++
		}
	}
	admin := c.admin[c.router.Database(domain.NumberOf(world)).Name]
	var pending int64
	err := admin.QueryRow(t.Context(), `SELECT coalesce(sum(pending), 0)::bigint FROM append_rejections WHERE world_id = $1`, world).Scan(&pending)
	if err != nil {
		t.Fatal(err)
	}
	return told + pending, entries
}

// Evidence is forgotten once nobody tries any more, and begins anew.
func TestEvidenceBesideTheHead_GoesWhenItIsQuiet(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	stale := Authority{7, "none"}
	refused := func() {
		t.Helper()
		_, err := a.tryWrite(t, world, &stale, "", "late")
		expectFenced(t, err, 1, journal.Coordinator)
	}
	refused()
	refused()
	c.advance(t, coalesce)
	refused() // tells of the one that was counted, and is counted itself
	c.advance(t, coalesce)
	c.write(t, world, nil, "", "tells")
	c.advance(t, coalesce)
	c.write(t, world, nil, "", "forgets")
	left := 0
	for _, db := range c.router.Databases() {
		rows, _ := c.admin[db.Name].Query(t.Context(), `SELECT 1 FROM append_rejections`)
		some, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			t.Fatal(err)
		}
		left += len(some)
	}
	if left != 0 {
		t.Errorf("%d rows are left", left)
	}
	refused()
	c.expectStory(t, world, "1 made by client", "1 refused a with 7, 1 times", "1 refused a with 7, 1 times",
		"1 refused a with 7, 1 times", "1 client writes tells", "1 client writes forgets", "1 refused a with 7, 1 times")
}

// What the journal can't hold is refused before it comes to a transaction, where it
// would stand in the way of all that comes to the world behind it.
func TestAnEpochThatNoJournalCanTellOf_IsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	for _, epoch := range []int64{-1, 0, journal.MaxInteger + 1, math.MaxInt64} {
		_, err := a.tryWrite(t, world, &Authority{epoch, "none"}, "", "late")
		expectCode(t, err, domain.KindInvalid, "lease_epoch_invalid")
	}
	for range 2 { // the second is counted, and told of later
		_, err := a.tryWrite(t, world, &Authority{journal.MaxInteger, "none"}, "", "late")
		expectFenced(t, err, 1, journal.Coordinator)
	}
	c.advance(t, coalesce)
	c.write(t, world, nil, "", "goes on")
	most := strconv.Itoa(journal.MaxInteger)
	c.expectStory(t, world, "1 made by client", "1 refused a with "+most+", 1 times", "1 refused a with "+most+", 1 times", "1 client writes goes on")
}

// A refusal is committed although nothing else of its request is.
func TestARefusal_OutlivesItsCaller(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t).as("b")
	world := c.world(t, "arena")
	a.hold(t, world)
	r.network.CutAfter(t, commitHeads)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := r.Append(gone, r.scope, world, nil, Append{Entries: []AppendEntry{{Payload: []byte("late")}}})
	if err == nil || domain.CodeOf(err) == "fenced" && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, although the answer was lost", err)
	}
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "2 refused b with 0, 1 times")
}
