package lease

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// L5.
func TestARenewalsAnswerLost_TheRetryFindsTheSameLease(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, r := c.as("a"), c.remote(t).as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	r.network.CutAfter(t, commitHeads)
	_, err := r.Renew(t.Context(), r.scope, world, lease)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	renewed, err := r.Renew(t.Context(), r.scope, world, lease)
	if err != nil || renewed.Epoch != lease.Epoch || renewed.Remaining != DefaultTerm {
		t.Errorf("the retry got %+v, %v", renewed, err)
	}
	a.write(t, world, &lease, "", "still the writer")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "2 renewed by a", "2 renewed by a",
		"2 a writes still the writer")
}

// sqlCommitFails has every commit that writes a head fail, at the commit itself.
const sqlCommitFails = `
CREATE FUNCTION clocked.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$;
CREATE CONSTRAINT TRIGGER fails AFTER INSERT OR UPDATE ON worlds DEFERRABLE INITIALLY DEFERRED
   FOR EACH ROW EXECUTE FUNCTION clocked.fail()`

// L13.
func TestAGrantWhoseCommitFails_LeavesTheEpoch(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	admin := c.admin[c.router.Database(domain.NumberOf(world)).Name]
	if _, err := admin.Exec(t.Context(), sqlCommitFails); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		grant, err := a.Acquire(t.Context(), a.scope, world, Acquire{RequestID: worldNamed("r", string(rune('a'+i%26)))})
		if err == nil {
			t.Fatalf("granted %+v", grant)
		}
	}
	if _, err := admin.Exec(t.Context(), `DROP TRIGGER fails ON worlds`); err != nil {
		t.Fatal(err)
	}
	c.expectStory(t, world, "1 made by client")
	a.hold(t, world)
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a")
}

// The answer to a grant is lost, with the commit or without it: the same request
// finds out.
func TestAGrantOfUnknownOutcome_IsFoundByItsRequest(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	for name, lose := range map[string]func(remote){
		"before the commit": func(r remote) { r.network.CutBefore(t, commitHeads) },
		"behind the commit": func(r remote) { r.network.CutAfter(t, commitHeads) },
	} {
		world := c.world(t, worldNamed(name))
		r := c.remote(t).as("a")
		lose(r)
		_, err := r.Acquire(t.Context(), r.scope, world, Acquire{RequestID: "r"})
		expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
		a.activate(t, a.acquire(t, world, Acquire{RequestID: "r"}))
		c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a")
	}
}

// An append of unknown outcome is found by its entry id, also by a writer that has
// been fenced since.
func TestAnAppendOfUnknownOutcome_IsFoundByItsIDBehindAnyBoundary(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	for name, lost := range map[string]struct {
		lose    func(remote)
		written bool
	}{
		"before the commit": {func(r remote) { r.network.CutBefore(t, commitHeads) }, false},
		"behind the commit": {func(r remote) { r.network.CutAfter(t, commitHeads) }, true},
	} {
		world := c.world(t, worldNamed(name))
		lease := a.hold(t, world)
		r := c.remote(t).as("a")
		lost.lose(r)
		_, err := r.tryWrite(t, world, &lease, "turn-1", "payload")
		expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
		c.advance(t, DefaultTerm)
		b.hold(t, world)
		receipt, err := r.tryWrite(t, world, &lease, "turn-1", "payload")
		story := []string{"1 made by client", "2 handed to a by a", "2 activated by a"}
		more := []string{"2 revoked by coordinator: expiry", "3 granted to coordinator", "4 handed to b by b", "4 activated by b"}
		if lost.written {
			story = append(append(story, "2 a writes payload"), more...)
			if err != nil || !receipt.Replayed || receipt.Positions[0] != 4 || receipt.Epoch != 2 {
				t.Errorf("%s: the receipt is %+v, %v", name, receipt, err)
			}
		} else {
			story = append(append(story, more...), "4 refused a with 2, 1 times")
			expectFenced(t, err, 4, actorOf(b.scope))
		}
		c.expectStory(t, world, story...)
	}
}

// L20.
func TestConnectionsThatEnd_EndNoLease(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, process := c.as("a"), c.process(t).as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	want := []string{"1 made by client", "2 handed to a by a", "2 activated by a"}
	for range 3 {
		c.terminate(t)
		for _, db := range process.router.Databases() {
			db.Pool.Reset() // as when they have lived for long enough
		}
		process.write(t, world, &lease, "", "on")
		want = append(want, "2 a writes on")
	}
	for _, db := range c.router.Databases() {
		db.Pool.Reset() // ours were terminated too
	}
	c.expectStory(t, world, want...)
}

// L27: a process is stopped in the midst of a flush, and keeps the heads of two
// worlds locked.
func TestAProcessStoppedInItsFlush_HoldsUpItsWorldsOnly(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	const idleTimeout = 2 * time.Second // serving has 10
	c.everywhere(t, `DO $$ BEGIN
		EXECUTE format('ALTER ROLE `+postgres.RoleAPI+` IN DATABASE %I SET idle_in_transaction_session_timeout = ''2s''', current_database());
	END $$`)
	held, beside := c.world(t, "held"), c.world(t, c.besides("held"))
	stopped := c.remote(t)
	trap := stopped.network.HoldBefore(t, writeEntries)
	lost := make(chan error)
	go func() {
		_, err := stopped.tryWrite(t, held, nil, "id", "stopped")
		lost <- err
	}()
	<-trap.Met()

	began := time.Now()
	c.write(t, beside, nil, "", "at once")
	if took := time.Since(began); took >= idleTimeout {
		t.Errorf("another world's append took %v", took)
	}
	c.write(t, held, nil, "", "within the timeout")
	trap.Release()
	if err := <-lost; domain.KindOf(err) != domain.KindUnavailable && domain.KindOf(err) != domain.KindOutcomeUnknown {
		t.Errorf("the stopped one got %v", err)
	}
	c.expectStory(t, beside, "1 made by client", "1 client writes at once")
	c.expectStory(t, held, "1 made by client", "1 client writes within the timeout")
}

// besides names another world of the same database.
func (c *coordinator) besides(world string) string {
	for i := 'a'; ; i++ {
		if id := world + "-" + string(i); c.router.Database(domain.NumberOf(id)) == c.router.Database(domain.NumberOf(world)) {
			return id
		}
	}
}

// A head that another process keeps is not waited for by those beside it, and asked
// for again by its own caller, until that gives up with nothing changed.
func TestABusyHead_IsGivenUpWithNothingChanged(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "held")
	beside := c.world(t, c.besides(world))
	holder, err := c.admin[c.router.Database(domain.NumberOf(world)).Name].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Rollback(context.WithoutCancel(t.Context()))
	if _, err := holder.Exec(t.Context(), `SELECT FROM worlds WHERE world_id = $1 FOR UPDATE`, world); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error)
	go func() {
		_, err := c.tryWrite(t, world, nil, "", "busy")
		answer <- err
	}()
	written := int64(0)
	for done := false; !done; {
		select {
		case err := <-answer:
			expectCode(t, err, domain.KindUnavailable, "world_busy")
			done = true
		default:
			c.write(t, beside, nil, "", "at once")
			written++
		}
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.expectStory(t, world, "1 made by client")
	if state, _ := c.replay(t, beside); state.Position != written+1 || written < 10 {
		t.Errorf("%d appends were answered beside, and the journal ends at %d", written, state.Position)
	}
}
