package lease

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inspect checks all of the tenant, and gives what it found in words.
func (c *coordinator) inspect(t testing.TB) (census Census, found []string) {
	t.Helper()
	census, err := c.Check(t.Context(), c.scope.Tenant, newOneKey().keys(), func(v Violation) error {
		found = append(found, strings.TrimSpace(fmt.Sprint(v.Kind, " ", v.World, " ", v.Position)))
		if v.Detail == "" || c.router.Named(v.Database) == nil {
			t.Errorf("violation %+v", v)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if census.Violations != int64(len(found)) {
		t.Errorf("the census counts %d violations of %d", census.Violations, len(found))
	}
	return census, found
}

// lived is a world in whose journal there is something of everything.
func (c *coordinator) lived(t testing.TB, world string) {
	t.Helper()
	a := c.as("a")
	c.world(t, world)
	c.write(t, world, nil, "one", "hosted")
	lease := a.hold(t, world)
	a.write(t, world, &lease, "two", "first")
	if _, err := a.Renew(t.Context(), a.scope, world, lease); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		c.tryWrite(t, world, nil, "", "fenced")
	}
	c.advance(t, DefaultTerm)
	c.write(t, world, nil, "three", "after the expiry")
	c.tryWrite(t, world, &lease, "", "fenced")
	c.tryWrite(t, world, &lease, "", "fenced")
	a.hold(t, world)
}

func TestCheck_FindsNothingInHonestJournals(t *testing.T) {
	t.Parallel()
	c, _ := newClocked(t).signed()
	c.lived(t, "arena")
	c.lived(t, "lobby")
	c.sweeper(t).sweep(t, TaskCheckpoints, 10)
	c.world(t, "gone")
	if err := c.RetireWorld(t.Context(), c.scope, "gone"); err != nil {
		t.Fatal(err)
	}
	census, found := c.inspect(t)
	if len(found) > 0 {
		t.Errorf("found %v", found)
	}
	_, arena := c.replay(t, "arena")
	want := Census{Worlds: 3, Retired: 1, Entries: 2*int64(len(arena)) + 2, Rejections: 2 * 3, Counted: 2 * 2, Checkpoints: 2}
	if diff := cmp.Diff(want, census); diff != "" {
		t.Errorf("census (-want +got):\n%s", diff)
	}
	c.everywhere(t, `UPDATE tenant_gates SET state = 'suspended'`)
	if again, found := c.inspect(t); again != census || len(found) > 0 {
		t.Errorf("suspended, the tenant has %+v and %v", again, found)
	}
}

func TestCheck_FindsNothingWhileTrafficGoesOn(t *testing.T) {
	t.Parallel()
	c, _ := newClocked(t).signed()
	worlds := []string{"arena", "lobby", "market"}
	for _, world := range worlds {
		c.world(t, world)
	}
	w := c.sweeper(t)
	checked := make(chan struct{})
	var traffic sync.WaitGroup
	for n, world := range worlds {
		traffic.Go(func() {
			a := c.as(fmt.Sprint("node-", n))
			for round := 0; ; round++ {
				select {
				case <-checked:
					return
				default:
				}
				c.write(t, world, nil, fmt.Sprint("entry-", round), "x")
				lease := a.hold(t, world)
				a.write(t, world, &lease, "", "y")
				c.tryWrite(t, world, nil, "", "fenced")
				if _, err := a.HandOff(t.Context(), a.scope, world, lease, ToCoordinator); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 5 {
		w.sweep(t, TaskCheckpoints, 10)
		if _, found := c.inspect(t); len(found) > 0 {
			t.Errorf("found %v", found)
		}
		c.everywhere(t, `UPDATE lease_sweeps SET pass_began_at = pass_began_at - interval '1 hour'`)
	}
	close(checked)
	traffic.Wait()
}

// Whatever is done to the rows past Holdfast is found, and named.
func TestCheck_FindsWhatMustNeverBe(t *testing.T) {
	t.Parallel()
	plants := []struct {
		does string
		sql  string
		want []string
	}{
		{"an entry is changed", `UPDATE journal SET payload = 'x' WHERE position = 2`, []string{"journal_broken arena 2"}},
		{"an entry is of another actor", `UPDATE journal SET actor_subject = 'mallory' WHERE position = 5`, []string{"journal_broken arena 5"}},
		{"an entry is lost", `DELETE FROM journal WHERE position = 4`, []string{"journal_broken arena 5"}},
		{"the last entries are lost", `DELETE FROM journal WHERE position > 9`, []string{"journal_short arena 10"}},
		{"the last three entries are lost, head and all", `
			WITH lost AS (DELETE FROM journal WHERE position > 10)
			UPDATE worlds SET (position, chain_hash, last_at) = (SELECT position, chain_hash, at FROM journal WHERE position = 10),
			       granted_position = 9, renewed_position = 9, written_position = 9`,
			[]string{"checkpoint_broken arena 13", "entry_id_wrong arena 11", "epoch_wrong arena 12", "head_differs arena 10"}},
		{"the head is set back", `UPDATE worlds SET position = position - 1`,
			[]string{"journal_long arena 13", "checkpoint_broken arena 13", "head_differs arena 12"}},
		{"the holder is another", `UPDATE worlds SET holder_subject = 'mallory'`, []string{"head_differs arena 13"}},
		{"the lease is longer", `UPDATE worlds SET expires_at = expires_at + interval '1 hour'`, []string{"head_differs arena 13"}},
		{"the epoch is another", `UPDATE worlds SET epoch = epoch + 1`, []string{"head_differs arena 13"}},
		{"what to replay is another", `UPDATE worlds SET granted_hash = sha256('')`, []string{"head_differs arena 13"}},
		{"the head is lost", `DELETE FROM worlds`, []string{"head_missing arena 0"}},
		{"an id is used twice", `UPDATE journal SET entry_id = 'one' WHERE entry_id = 'three'`,
			[]string{"journal_broken arena 11"}},
		{"an id leads elsewhere", `UPDATE entry_ids SET position = 2 WHERE entry_id = 'three'`, []string{"entry_id_wrong arena 11", "entry_id_wrong arena 2"}},
		{"an id leads to nothing", `INSERT INTO entry_ids SELECT tenant_id, number, world_id, 'four', 99 FROM worlds`, []string{"entry_id_wrong arena 99"}},
		{"an id stands in another number", `INSERT INTO entry_ids SELECT tenant_id, (number + 1) % 64, world_id, 'four', 1 FROM worlds`, []string{"wrong_bucket arena 0"}},
		{"an id is lost", `DELETE FROM entry_ids WHERE entry_id = 'three'`, []string{"entry_id_wrong arena 11"}},
		{"an epoch leads elsewhere", `UPDATE lease_epochs SET position = 2 WHERE epoch = 1`, []string{"epoch_wrong arena 1"}},
		{"an epoch leads to another's entry", `INSERT INTO lease_epochs SELECT tenant_id, number, world_id, 99, 2 FROM worlds`, []string{"epoch_wrong arena 2"}},
		{"an epoch is lost", `DELETE FROM lease_epochs WHERE epoch = 1`, []string{"epoch_wrong arena 1"}},
		{"counted rejections are forgotten", `UPDATE worlds SET rejected = false`, []string{"rejections_forgotten arena 0"}},
		{"the line is forgotten", `
			INSERT INTO lease_waiters SELECT tenant_id, number, world_id, 'holdfast', 'b', 'r', 1, 30, 60, now() FROM worlds`,
			[]string{"line_forgotten arena 0"}},
		{"a checkpoint is forged", `UPDATE checkpoints SET position = position - 1`, []string{"checkpoint_broken arena 12", "checkpoint_broken arena 12"}},
		{"a world stands in another number", `UPDATE checkpoints SET number = (number + 1) % 64`, []string{"wrong_bucket arena 0"}},
	}
	for _, plant := range plants {
		t.Run(plant.does, func(t *testing.T) {
			t.Parallel()
			c, _ := newClocked(t).signed()
			c.lived(t, "arena")
			c.sweeper(t).sweep(t, TaskCheckpoints, 100)
			if _, found := c.inspect(t); len(found) > 0 {
				t.Fatalf("before, %v is found", found)
			}
			for _, sql := range strings.Split(plant.sql, ";") {
				c.everywhere(t, sql)
			}
			_, found := c.inspect(t)
			if diff := cmp.Diff(plant.want, found); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}
