package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// Producers create, change and tombstone all the time, while snapshots are made,
// each by two workers at once. Each is the collection exactly as it stood at its
// sequence, which the producers' receipts tell afterwards.
func TestSnapshot_UnderPublicationsIsExactlyTheStateAtItsSequence(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l := k.collection(t, "orders"), &ledger{}
		k.fill(t, l, c, 10, 700<<10) // parts of a few sections each
		storm, calm := context.WithCancel(t.Context())
		var producers sync.WaitGroup
		for n := range 4 {
			producers.Go(func() { k.produce(t, storm, l, c, uint64(n)) })
		}
		workers := []*Service{k.upkeep(t, Options{}), k.upkeep(t, Options{})}
		var all []Snapshot
		for range 4 {
			asked := k.request(t, c)
			var group sync.WaitGroup
			for _, w := range workers {
				group.Go(func() { work(t.Context(), k.databaseOf(c), w) })
			}
			group.Wait()
			all = append(all, k.complete(t, workers[0], c, asked))
		}
		calm()
		producers.Wait()
		first := all[0]
		for _, sn := range all[len(all)-snapshotsKept:] {
			k.expectAt(t, l, c, sn)
		}
		if last := all[len(all)-1]; last.Sequence <= first.Sequence || last.Sequence == 0 {
			t.Errorf("no change was between the first, %+v, and the last, %+v", first, last)
		}
		if final := l.at(1 << 60); len(final) < 20 {
			t.Errorf("the producers made only %d sections", len(final))
		}
	})
}

// produce publishes to records of its own and to those that others share, until ctx
// ends.
func (k *keeper) produce(t *testing.T, ctx context.Context, l *ledger, c string, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 1))
	for n := int64(1); ctx.Err() == nil; n++ {
		p := Publication{
			Key: fmt.Sprintf("item/%05d", dice.IntN(60)), OperationID: fmt.Sprintf("p%d-%d", seed, n), Producer: "storm",
			Expect: Expectation{Fence: &Fence{Key: fmt.Sprintf("f%d", seed), Revision: n}},
		}
		switch dice.IntN(4) {
		case 0:
			p.Bodies = map[string][]byte{"closed": fmt.Appendf(nil, "%d of %d", n, seed)}
		case 1:
			p.Tombstones = []string{"items", "closed"}
		default:
			p.Bodies = map[string][]byte{"items": fmt.Appendf(nil, "%d by %d", n, seed), "plans": {}}
		}
		receipt, err := k.Publish(context.WithoutCancel(ctx), k.scope, c, nil, p)
		if err == nil {
			l.add(receipt)
		}
	}
}
