package lease

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// oneKey signs everything.
type oneKey struct{ ed25519.PrivateKey }

func newOneKey() oneKey { return oneKey{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))} }

func (k oneKey) CheckpointKey(context.Context) (string, ed25519.PrivateKey, error) {
	return "one", k.PrivateKey, nil
}

func (k oneKey) keys() journal.Keys {
	return journal.Keys{"one": k.Public().(ed25519.PublicKey)}
}

// signed is a coordinator that signs checkpoints.
func (c *coordinator) signed() (*coordinator, oneKey) {
	key := newOneKey()
	c.Service = New(c.router, testSecrets("server"), Options{Signer: key})
	return c, key
}

// export gives a world's journal as the API does.
func (c *coordinator) export(t testing.TB, world string) []byte {
	t.Helper()
	_, all := c.replay(t, world)
	var text []byte
	for i := range all {
		text = append(all[i].AppendJSON(text), '\n')
	}
	return text
}

// L18: with a checkpoint that was kept elsewhere, a journal that has lost its last
// rows is found out; without it, nothing shows.
func TestCheckpoint_ShowsThatAJournalsEndIsGone(t *testing.T) {
	t.Parallel()
	c, key := newClocked(t).signed()
	world := c.world(t, "arena")
	for i := range 5 {
		c.write(t, world, nil, "", fmt.Sprint("entry ", i))
	}
	kept, err := c.Checkpoint(t.Context(), c.scope, world)
	if err != nil || kept.Position != 6 {
		t.Fatalf("the checkpoint is of position %d: %v", kept.Position, err)
	}
	whole := c.export(t, world)
	if _, err := journal.Verify(bytes.NewReader(whole), c.scope.Tenant, world, []journal.Checkpoint{kept}, key.keys()); err != nil {
		t.Errorf("the whole journal doesn't verify: %v", err)
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	cut := bytes.Join(lines[:3], nil)
	if _, err := journal.Verify(bytes.NewReader(cut), c.scope.Tenant, world, nil, nil); err != nil {
		t.Errorf("what is left is no journal by itself: %v", err)
	}
	var fault *journal.Fault
	_, err = journal.Verify(bytes.NewReader(cut), c.scope.Tenant, world, []journal.Checkpoint{kept}, key.keys())
	if !errors.As(err, &fault) || fault.Rule != journal.RuleCheckpoint {
		t.Errorf("a journal without its last entries is found to be %v", err)
	}
}

func TestCheckpoint_OfAWorldThatIsNotThere(t *testing.T) {
	t.Parallel()
	c, _ := newCoordinator(t).signed()
	world := c.world(t, "arena")
	if err := c.RetireWorld(t.Context(), c.scope, world); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{world, "nowhere", "No World"} {
		_, err := c.Checkpoint(t.Context(), c.scope, id)
		expectCode(t, err, domain.KindNotFound, "world_not_found")
	}
	other := *c
	other.scope.Tenant = domain.NewID[domain.TenantKind](time.Now())
	if _, err := other.Checkpoint(t.Context(), other.scope, c.world(t, "mine")); err == nil {
		t.Error("another tenant's world is signed")
	}
}

// checkpoints are those that are kept of a world.
func (c *coordinator) checkpoints(t testing.TB, key oneKey, world string) (positions []int64) {
	t.Helper()
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := c.admin[c.router.Database(ref.number).Name].Query(t.Context(),
		`SELECT position, chain_hash, signed_at, key_id, signature FROM checkpoints WHERE world_id = $1 ORDER BY position`, world)
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (journal.Checkpoint, error) {
		kept := journal.Checkpoint{Tenant: c.scope.Tenant, World: world}
		var hash []byte
		err := row.Scan(&kept.Position, &hash, &kept.At, &kept.KeyID, &kept.Signature)
		copy(kept.Hash[:], hash)
		positions = append(positions, kept.Position)
		return kept, errors.Join(err, key.keys().Verify(kept))
	})
	if err != nil {
		t.Error(err)
	}
	return positions
}

func TestSweep_SignsOneCheckpointAnHourOfWorldsThatHaveGrown(t *testing.T) {
	t.Parallel()
	c, key := newClocked(t).signed()
	growing, still := c.world(t, "growing"), c.world(t, "still")
	w := c.sweeper(t)
	if done := w.sweep(t, TaskCheckpoints, 1); done != (SweepStep{Visited: 2, Recovered: 2}) {
		t.Errorf("the first sweep did %+v", done)
	}
	c.write(t, growing, nil, "", "more")
	if done := w.sweep(t, TaskCheckpoints, 1); done != (SweepStep{}) {
		t.Errorf("within the hour a sweep did %+v", done)
	}
	for range checkpointsKept + 1 {
		c.advance(t, time.Hour)
		if done := w.sweep(t, TaskCheckpoints, 1); done != (SweepStep{Visited: 2, Recovered: 1}) {
			t.Errorf("an hour later a sweep did %+v", done)
		}
		c.write(t, growing, nil, "", "more")
	}
	if got := c.checkpoints(t, key, growing); !slices.Equal(got, []int64{3, 4, 5, 6, 7}) {
		t.Errorf("checkpoints of %v are kept, want the last %d", got, checkpointsKept)
	}
	if got := c.checkpoints(t, key, still); !slices.Equal(got, []int64{1}) {
		t.Errorf("of the world that is still, %v are kept", got)
	}
}

// A worker that dies behind the page leaves it to the next pass.
func TestSweep_GoesOnWhereAWorkerDied(t *testing.T) {
	t.Parallel()
	c, key := newClocked(t).signed()
	world := c.world(t, "arena")
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	db := c.router.Database(ref.number)
	w := c.sweeper(t)
	if _, err := nextPage(t.Context(), w.router.Database(ref.number), TaskCheckpoints, ref.number, 1, findGrown); err != nil {
		t.Fatal(err) // and there it dies
	}
	due, err := w.SweepDue(t.Context(), db.Name, TaskCheckpoints)
	if err != nil || due[len(due)-1] != ref.number || !slices.Contains(due, ref.number) {
		t.Errorf("due are %v, %v, want that number last", due, err)
	}
	w.sweep(t, TaskCheckpoints, 1) // ends the pass behind the page
	c.advance(t, time.Hour)
	w.sweep(t, TaskCheckpoints, 1)
	if got := c.checkpoints(t, key, world); !slices.Equal(got, []int64{1}) {
		t.Errorf("checkpoints of %v are kept", got)
	}
}

func TestSweep_LeavesANumberToTheWorkerThatReadsIt(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	w := c.sweeper(t)
	db := w.router.Databases()[0]
	number := db.Numbers[0]
	w.Sweep(t.Context(), db.Name, TaskSettle, number, 1)
	tx, err := c.admin[db.Name].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `SELECT FROM lease_sweeps FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	if step, err := w.Sweep(t.Context(), db.Name, TaskSettle, number, 1); err != nil || step != (SweepStep{Busy: true}) {
		t.Errorf("the step did %+v, %v", step, err)
	}
}
