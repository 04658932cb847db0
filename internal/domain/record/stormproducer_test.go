package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// producer publishes, deletes and completes batches, one after the other.
type producer struct {
	*storm
	name  string
	rng   *rand.Rand
	made  int     // operation ids
	deeds []*deed // its own
}

func (p *producer) act(t *testing.T) {
	c := p.collections[p.rng.IntN(len(p.collections))]
	switch n := p.rng.IntN(12); {
	case n < 7:
		p.publishOne(t, c, p.any(t, c, p.anyKey()))
	case n < 8:
		p.deleteOne(t, c)
	case n < 9:
		p.publishMany(t, c)
	case n < 11:
		p.workOnBatch(t, c)
	default:
		p.repeat(t)
	}
}

func (p *producer) anyKey() string { return fmt.Sprint("key/", p.rng.IntN(stormKeys)) }

func (p *producer) operation() string {
	p.made++
	return fmt.Sprintf("%s-%d", p.name, p.made)
}

// any is a publication of one of all sorts.
func (p *producer) any(t *testing.T, c, key string) Publication {
	pub := Publication{Key: key, OperationID: p.operation(), Producer: p.name, Bodies: map[string][]byte{}}
	primary := []string{"items", "items", "closed"}[p.rng.IntN(3)]
	pub.Bodies[primary] = p.body(pub.OperationID, primary)
	if p.rng.IntN(3) == 0 {
		pub.Bodies["decision-packets"] = p.body(pub.OperationID, "decision-packets")
	}
	switch stands := p.look(t, c, key); p.rng.IntN(4) {
	case 0:
		pub.Expect.Fence = &Fence{Key: "fence of " + key, Revision: p.fenceRevision()}
	case 1:
		pub.Expect.Digests = map[string]*Digest{primary: nil}
		if s, has := stands.Section(primary); has && s.Live {
			pub.Expect.Digests[primary] = &s.Digest
		}
	default:
		if pub.Expect.Revision = stands.Revision; !stands.Live {
			pub.Expect = Expectation{Absent: true}
		}
	}
	return pub
}

// fenceRevision is one that nobody else uses, and late now and then.
func (p *producer) fenceRevision() int64 {
	n := 2 * p.names.Add(1)
	if late := n - 101; late > 0 && p.rng.IntN(3) == 0 {
		return late
	}
	return n
}

// body is one of its own; now and then one that others have too, or a large one.
func (p *producer) body(operation, section string) []byte {
	switch p.rng.IntN(8) {
	case 0:
		return nil
	case 1:
		return []byte("the same for all")
	case 2:
		return append(bytes.Repeat([]byte(operation), 60_000), section...)
	}
	return fmt.Appendf(nil, "%s of %s", section, operation)
}

// look reads a record; an empty one if there is none.
func (p *producer) look(t *testing.T, c, key string) (r Record) {
	err := p.insist(p.rng, func(k *keeper) (err error) {
		r, err = k.Record(t.Context(), k.scope, c, key)
		return err
	})
	if err != nil && domain.CodeOf(err) != "record_not_found" {
		t.Errorf("look at %s: %v", key, err)
	}
	return r
}

func (p *producer) publishOne(t *testing.T, c string, pub Publication) {
	d := &deed{collection: c, asked: pub}
	p.send(c, &pub)
	p.hear(t, d, p.insist(p.rng, func(k *keeper) (err error) {
		d.receipt, err = k.Publish(t.Context(), k.scope, c, nil, pub)
		return err
	}))
}

func (p *producer) deleteOne(t *testing.T, c string) {
	stands := p.look(t, c, p.anyKey())
	if !stands.Live {
		return
	}
	d := &deed{collection: c, asked: Publication{Key: stands.Key, OperationID: p.operation(), Expect: Expectation{Revision: stands.Revision}, everything: true}}
	p.hear(t, d, p.insist(p.rng, func(k *keeper) (err error) {
		d.receipt, err = k.Delete(t.Context(), k.scope, c, nil, stands.Key, stands.Revision, d.asked.OperationID)
		return err
	}))
}

// publishMany asks for several at once, and asks again for those that are open.
func (p *producer) publishMany(t *testing.T, c string) {
	var open []*deed
	for _, n := range p.rng.Perm(stormKeys)[:4] {
		d := &deed{collection: c, asked: p.any(t, c, fmt.Sprint("key/", n))}
		p.send(c, &d.asked)
		open = append(open, d)
	}
	err := p.insist(p.rng, func(k *keeper) error {
		var all []Publication
		for _, d := range open {
			all = append(all, d.asked)
		}
		made, err := k.PublishEach(t.Context(), k.scope, c, nil, all)
		if err != nil {
			return err
		}
		var left []*deed
		for i, d := range open {
			if passes(made[i].Err) {
				left, err = append(left, d), made[i].Err
				continue
			}
			d.receipt = made[i].Receipt
			p.hear(t, d, made[i].Err)
		}
		open = left
		return err
	})
	if err != nil {
		t.Errorf("publish many: %v", err)
	}
}

// refusals are what a publication may come to that asked for something else than
// there was.
var refusals = map[string]bool{
	"revision_stale": true, "record_exists": true, "record_not_found": true, "digest_mismatch": true, "primary_missing": true,
}

// hear takes in the answer that stands.
func (p *producer) hear(t *testing.T, d *deed, err error) {
	if d.refusal = domain.CodeOf(err); err != nil && !refusals[d.refusal] {
		t.Errorf("%s of %s: %v", d.asked.OperationID, d.asked.Key, err)
		return
	}
	p.deeds = append(p.deeds, d)
	p.settle(d)
}

// repeat asks once more for something that was settled.
func (p *producer) repeat(t *testing.T) {
	if len(p.deeds) == 0 {
		return
	}
	d := p.deeds[p.rng.IntN(len(p.deeds))]
	if d.refusal != "" || d.asked.everything || d.asked.Claim != nil {
		return
	}
	var again Receipt
	err := p.insist(p.rng, func(k *keeper) (err error) {
		again, err = k.Publish(t.Context(), k.scope, d.collection, nil, d.asked)
		return err
	})
	if err != nil || !again.Replayed {
		t.Errorf("%s was made, and asked again it is %+v, %v", d.asked.OperationID, again, err)
		return
	}
	expectSame(t, d.receipt, again)
}

// workOnBatch claims items and completes the batch.
func (p *producer) workOnBatch(t *testing.T, c string) {
	id := "batch of " + p.operation()
	var keys []string
	for _, n := range p.rng.Perm(stormKeys)[:3] {
		keys = append(keys, fmt.Sprint("key/", n))
	}
	var b Batch
	err := p.insist(p.rng, func(k *keeper) (err error) {
		b, err = k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: id, Owner: p.name, Items: keys})
		return err
	})
	if err != nil {
		t.Errorf("claim %s: %v", id, err)
		return
	}
	req := CompleteBatch{OperationID: p.operation()}
	for _, item := range b.Items {
		if item.State == ItemLeased && p.rng.IntN(4) > 0 {
			pub := p.any(t, c, item.Key)
			pub.Claim = &Claim{Generation: item.Generation}
			p.send(c, &pub)
			req.Items = append(req.Items, pub)
		}
	}
	if len(req.Items) == 0 {
		return // its claims are over when their time is
	}
	p.complete(t, c, id, req)
}

func (p *producer) complete(t *testing.T, c, id string, req CompleteBatch) {
	var done Completion
	err := p.insist(p.rng, func(k *keeper) (err error) {
		done, err = k.Complete(t.Context(), k.scope, c, nil, id, req)
		return err
	})
	if err != nil {
		t.Errorf("complete %s: %v", id, err)
		return
	}
	for i, item := range done.Items {
		d := &deed{collection: c, asked: req.Items[i]}
		switch {
		case item.Receipt != nil:
			d.receipt = *item.Receipt
			p.hear(t, d, nil)
		case item.Outcome == ItemConflict:
			p.hear(t, d, domain.Conflict(item.Code, item.Detail))
		default:
			p.hear(t, d, errors.New(string(item.Outcome)))
		}
	}
}
