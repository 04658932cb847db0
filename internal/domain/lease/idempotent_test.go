package lease

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var sameReceipt = cmpopts.IgnoreFields(Receipt{}, "Replayed")

// L11.
func TestTheSameEntryID_IsOneEntryAndOneReceipt(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a, b := c.as("a"), c.as("b")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	processes := []*coordinator{a, c.process(t).as("a"), c.process(t).as("a")}
	receipts := make([]Receipt, len(processes))
	var all sync.WaitGroup
	for i, process := range processes {
		all.Go(func() { receipts[i] = process.write(t, world, &lease, "turn-1", "payload") })
	}
	all.Wait()
	fresh := 0
	for _, receipt := range receipts {
		if !receipt.Replayed {
			fresh++
		}
		if diff := cmp.Diff(receipts[0], receipt, sameReceipt); diff != "" {
			t.Errorf("two receipts for one id (-first +other):\n%s", diff)
		}
	}
	if fresh != 1 {
		t.Errorf("%d of the requests say that they wrote it", fresh)
	}
	if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
		t.Fatal(err)
	}
	b.hold(t, world)
	for _, late := range []*coordinator{a, b, c} { // whoever may write now
		again := late.write(t, world, &lease, "turn-1", "payload")
		if diff := cmp.Diff(receipts[0], again, sameReceipt); diff != "" || !again.Replayed {
			t.Errorf("the receipt behind the handoff, replayed %v (-first +again):\n%s", again.Replayed, diff)
		}
	}
	_, err := a.tryWrite(t, world, &lease, "turn-1", "other payload")
	expectCode(t, err, domain.KindConflict, "entry_id_reused")
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "2 a writes payload",
		"3 handed to coordinator by a", "4 handed to b by b", "4 activated by b")
}

func TestEntriesPartlyKnown_AreRefusedWithThoseThatAre(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	batch := func(ids ...string) (entries []AppendEntry) {
		for _, id := range ids {
			entries = append(entries, AppendEntry{ID: id, Payload: []byte(id)})
		}
		return entries
	}
	first, err := c.Append(t.Context(), c.scope, world, nil, Append{Entries: batch("1", "2", "3")})
	if err != nil {
		t.Fatal(err)
	}
	for _, mixed := range [][]string{{"2", "4"}, {"4", "2"}, {"2", ""}} {
		_, err = c.Append(t.Context(), c.scope, world, nil, Append{Entries: batch(mixed...)})
		expectCode(t, err, domain.KindConflict, "entries_partly_known")
		var refusal *domain.Error
		if errors.As(err, &refusal); refusal != nil {
			if diff := cmp.Diff(map[string]any{"known": []string{"2"}}, refusal.Members); diff != "" {
				t.Errorf("known (-want +got):\n%s", diff)
			}
		}
	}
	again, err := c.Append(t.Context(), c.scope, world, nil, Append{Entries: batch("1", "2", "3")})
	if diff := cmp.Diff(first, again, sameReceipt); err != nil || diff != "" || !again.Replayed {
		t.Errorf("%v, the whole again (-first +again):\n%s", err, diff)
	}
	c.expectStory(t, world, "1 made by client", "1 client writes 1", "1 client writes 2", "1 client writes 3")
}

// Of the guards of an entry id this one is the last: the database has each once.
func TestTheJournal_HasRoomForAnEntryIDOnce(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	c.write(t, world, nil, "turn-1", "payload")
	for name, sql := range map[string]string{
		"the same id":       `INSERT INTO entry_ids SELECT (jsonb_populate_record(i, '{"position": 9}')).* FROM entry_ids i WHERE world_id = $1`,
		"the same position": `INSERT INTO journal SELECT (jsonb_populate_record(j, '{"entry_id": "turn-2"}')).* FROM journal j WHERE world_id = $1 AND position = 2`,
	} {
		_, err := c.admin[c.router.Database(domain.NumberOf(world)).Name].Exec(t.Context(), sql, world)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "23505" {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.expectStory(t, world, "1 made by client", "1 client writes payload")
}

// L24: both processes send it in the midst of fifty appends of their own.
func TestTheSameEntryIDAtTwoProcessesAtOnce_IsOneEntry_AndNeighboursUnharmed(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	processes := []*coordinator{c.process(t), c.process(t)}
	shared := c.world(t, "shared")
	worlds := []string{shared, c.world(t, "beside"), c.world(t, "elsewhere")}
	const neighbours = 50
	receipts := make([]Receipt, len(processes))
	var all sync.WaitGroup
	for p, process := range processes {
		for i := range neighbours {
			all.Go(func() { process.write(t, worlds[i%len(worlds)], nil, fmt.Sprintf("%d-%d", p, i), "neighbour") })
			if i == neighbours/2 {
				all.Go(func() { receipts[p] = process.write(t, shared, nil, "the-one", "payload") })
			}
		}
	}
	all.Wait()
	if diff := cmp.Diff(receipts[0], receipts[1], sameReceipt); diff != "" || receipts[0].Replayed == receipts[1].Replayed {
		t.Errorf("replayed %v and %v, receipts (-one +other):\n%s", receipts[0].Replayed, receipts[1].Replayed, diff)
	}
	entries := map[string]int{}
	for _, world := range worlds {
		_, all := c.replay(t, world) // refuses a gap
		for _, e := range all {
			if e.EntryID != "" {
				entries[e.EntryID]++
			}
		}
	}
	if len(entries) != 2*neighbours+1 {
		t.Errorf("%d entries, want %d", len(entries), 2*neighbours+1)
	}
	for id, n := range entries {
		if n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
}

// if_position compares with what a tenant wrote or who may write, and with
// nothing that Holdfast notes beside.
func TestIfPosition_HoldsUntilATenantWrites(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	a := c.as("a")
	world := c.world(t, "arena")
	lease := a.hold(t, world)
	_, err := c.tryWrite(t, world, nil, "", "evidence")
	expectFenced(t, err, 2, actorOf(a.scope))
	if _, err := a.Renew(t.Context(), a.scope, world, lease); err != nil {
		t.Error(err)
	}
	appendAt := func(position int64, id string) error {
		_, err := a.Append(t.Context(), a.scope, world, &lease, Append{Entries: []AppendEntry{{ID: id, Payload: []byte(id)}}, IfPosition: &position})
		return err
	}
	if err := appendAt(2, "on-the-handoff"); err != nil {
		t.Error(err)
	}
	expectCode(t, appendAt(2, "late"), domain.KindPreconditionFailed, "position_changed")
	if err := appendAt(2, "on-the-handoff"); err != nil {
		t.Errorf("a retry: %v", err)
	}
	c.expectStory(t, world, "1 made by client", "2 handed to a by a", "2 activated by a", "2 refused client with 0, 1 times",
		"2 renewed by a", "2 a writes on-the-handoff")
}
