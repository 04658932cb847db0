package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// publisher changes a collection's few records in every way that there is, as fast
// as it can.
type publisher struct {
	*keeper
	collection string
	name       string
	dice       *rand.Rand
	round      int
}

func (p *publisher) key() string { return fmt.Sprint("key-", p.dice.IntN(6)) }

// body is small, empty, or of two chunks.
func (p *publisher) body() []byte {
	switch p.dice.IntN(6) {
	case 0:
		return nil
	case 1:
		return make([]byte, chunkSize+p.round)
	default:
		return fmt.Append(nil, p.name, p.round)
	}
}

// step does one thing, which may be refused: others have been at the record too.
func (p *publisher) step(ctx context.Context) error {
	p.round++
	id := fmt.Sprint(p.name, "-", p.round)
	key := p.key()
	change := Publication{Key: key, OperationID: id, Expect: Expectation{Fence: &Fence{Key: "fence-" + key, Revision: int64(p.round)}}}
	switch p.dice.IntN(6) {
	case 0:
		change.Bodies = map[string][]byte{"items": p.body(), "plans": p.body()}
	case 1:
		change.Bodies = map[string][]byte{"closed": p.body(), "decision-packets": p.body()}
	case 2:
		change.Tombstones = []string{"items", "closed"}
	case 3:
		r, err := p.Record(ctx, p.scope, p.collection, key)
		if err != nil {
			return err
		}
		_, err = p.Delete(ctx, p.scope, p.collection, nil, key, r.Revision, id)
		return err
	case 4:
		return p.batch(ctx, id)
	default:
		change.Bodies = map[string][]byte{"items": p.body()}
	}
	_, err := p.Publish(ctx, p.scope, p.collection, nil, change)
	return err
}

// batch claims two items, and completes one of them, or leaves both.
func (p *publisher) batch(ctx context.Context, id string) error {
	b, err := p.Claim(ctx, p.scope, p.collection, nil, ClaimBatch{ID: id, Owner: p.name, Items: []string{p.key(), p.key()}, Term: MinBatchTerm})
	if err != nil || b.Items[0].State != ItemLeased {
		return err
	}
	item := ClaimedItem{b.Items[0].Key, b.Items[0].Generation}
	if _, err := p.Heartbeat(ctx, p.scope, p.collection, nil, id, []ClaimedItem{item}, MinBatchTerm+time.Second); err != nil || p.dice.IntN(2) == 0 {
		return err
	}
	_, err = p.Complete(ctx, p.scope, p.collection, nil, id, CompleteBatch{OperationID: id + "-done", Items: []Publication{{
		Key: item.Key, OperationID: id + "-made", Bodies: map[string][]byte{"items": p.body()},
		Expect: Expectation{Fence: &Fence{Key: "fence-" + item.Key, Revision: int64(p.round)}}, Claim: &Claim{Generation: item.Generation},
	}}})
	return err
}

func TestCheck_FindsNothingWhilePublicationsGoOn(t *testing.T) {
	t.Parallel()
	for _, move := range []bool{false, true} {
		for name, format := range map[string]int16{"sql": FormatSQL, "store": FormatStore} {
			if move && format == FormatStore {
				continue
			}
			t.Run(fmt.Sprint(name, map[bool]string{true: ", on its way into the store"}[move]), func(t *testing.T) {
				t.Parallel()
				k := newKeeper(t, format)
				c := k.collection(t, "orders")
				checked := make(chan struct{})
				var publishers sync.WaitGroup
				made := make([]int, 4)
				for n := range made {
					p := &publisher{keeper: k.process(t, Options{}), collection: c, name: fmt.Sprint("p", n), dice: rand.New(rand.NewPCG(uint64(n), uint64(format)))}
					publishers.Go(func() {
						for {
							select {
							case <-checked:
								return
							default:
								if p.step(context.Background()) == nil {
									made[n]++
								}
							}
						}
					})
				}
				var census Census
				for n := range 40 {
					var found []string
					if census, found = k.inspect(t, Checking{Bodies: true}); len(found) > 0 {
						t.Errorf("check %d found %q", n, found)
					}
					if move && n == 15 {
						k.everywhere(t, `UPDATE collections SET record_format = 2, sealed = false`)
					}
				}
				close(checked)
				publishers.Wait()
				for n := range made {
					if made[n] == 0 {
						t.Errorf("publisher %d made nothing", n)
					}
				}
				t.Logf("%v were made; at last %+v", made, census)
			})
		}
	}
}
