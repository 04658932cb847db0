package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// publisher publishes, deletes and completes batches, one after the other.
type publisher struct {
	*recordStorm
	client *holdfast.ClientWithResponses
	rng    *rand.Rand
	name   string
	used   int           // operation ids
	own    []*publishing // that have receipts
}

func (s *recordStorm) newPublisher(t *testing.T, n int) *publisher {
	return &publisher{
		recordStorm: s, client: door{s.fleet, longestAnswer, true}.connect(t, s.tenant.key),
		rng: rand.New(rand.NewPCG(s.seed, uint64(1+n))), name: fmt.Sprint("producer-", n),
	}
}

func (p *publisher) run(t *testing.T) {
	for p.fleet.await(0) {
		c := p.collections[p.rng.IntN(len(p.collections))]
		switch n := p.rng.IntN(14); {
		case n < 8:
			p.publishOne(t, c)
		case n < 9:
			p.deleteOne(t, c)
		case n < 10:
			p.publishMany(t, c)
		case n < 12:
			p.workOnBatch(t, c)
		default:
			p.repeat(t)
		}
	}
}

func (p *publisher) anyKey() string { return fmt.Sprint("key/", p.rng.IntN(recordKeys)) }

func (p *publisher) operation() string {
	p.used++
	return fmt.Sprintf("%s-%d", p.name, p.used)
}

// any is a publication of one of all sorts.
func (p *publisher) any(t *testing.T, c, key string) *publishing {
	a := holdfast.RecordPublication{Key: key, OperationID: p.operation(), Sections: &holdfast.Sections{}}
	primary := []string{"items", "items", "closed"}[p.rng.IntN(3)]
	(*a.Sections)[primary] = p.body(a.OperationID, primary)
	if p.rng.IntN(3) == 0 {
		(*a.Sections)["decision-packets"] = p.body(a.OperationID, "decision-packets")
	}
	switch stands := p.look(t, c, key); p.rng.IntN(4) {
	case 0:
		a.Fence = &holdfast.NewFence{Key: "fence of " + key, Revision: p.fenceRevision()}
	case 1:
		a.Expect = &holdfast.ExpectedDigests{primary: stands.Sections[primary].Digest}
	default:
		if stands.Live {
			a.IfRevision = &stands.Revision
		} else {
			a.IfAbsent = ptr(true)
		}
	}
	return &publishing{collection: c, asked: a}
}

// body is one of its own; now and then one that others have too, or a large one.
func (p *publisher) body(operation, section string) holdfast.SectionBody {
	switch p.rng.IntN(8) {
	case 0:
		return holdfast.SectionBody{Body: []byte{}}
	case 1:
		return holdfast.SectionBody{Body: []byte("the same for all")}
	case 2:
		return holdfast.SectionBody{Body: append(bytes.Repeat([]byte(operation), 50_000), section...)}
	}
	return holdfast.SectionBody{Body: fmt.Appendf(nil, "\x00\xff%s of %s", section, operation)}
}

// fenceRevision is one that nobody else uses, and late now and then.
func (p *publisher) fenceRevision() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fences += 2
	if late := p.fences - 101; late > 0 && p.rng.IntN(3) == 0 {
		return late
	}
	return p.fences
}

// look reads a record; an empty one if there is none.
func (p *publisher) look(t *testing.T, c, key string) (r holdfast.Record) {
	err := p.insist(func() error {
		answer, err := p.client.GetRecordWithResponse(t.Context(), c, key, nil)
		if err == nil {
			r = *answer.JSON200
		}
		return err
	})
	if err != nil && !holdfast.IsCode(err, "record_not_found") {
		p.fault(t, "look at %s of %s: %v", key, c, err)
	}
	return r
}

func (p *publisher) publishOne(t *testing.T, c string) {
	d := p.any(t, c, p.anyKey())
	p.send(d)
	p.hear(t, d, p.insist(func() error { return p.put(t, d) }))
}

// put asks once, with bodies as base64 or as parts: an operation is the same either
// way.
func (p *publisher) put(t *testing.T, d *publishing) error {
	a := &d.asked
	params := &holdfast.PutRecordParams{}
	if a.IfRevision != nil {
		params.IfMatch = ptr(fmt.Sprintf("%q", fmt.Sprint(*a.IfRevision)))
	}
	if a.IfAbsent != nil {
		params.IfNoneMatch = ptr("*")
	}
	asked := holdfast.Publication{OperationID: a.OperationID, Expect: a.Expect, Fence: a.Fence, Sections: a.Sections}
	var answer *holdfast.PutRecordResponse
	var err error
	if p.rng.IntN(2) == 0 {
		answer, err = p.client.PutRecordWithResponse(t.Context(), d.collection, a.Key, params, asked)
	} else {
		uploaded := partsOf(t, asked)
		answer, err = p.client.PutRecordWithBodyWithResponse(t.Context(), d.collection, a.Key, params, uploaded.mediaType, &uploaded.body)
	}
	if err == nil {
		p.hearReceipt(d, *answer.JSON200, answer.Headers200.IdempotentReplayed != nil)
	}
	return err
}

func partsOf(t *testing.T, asked holdfast.Publication) *parts {
	bodies := map[string]string{}
	for section, body := range *asked.Sections {
		bodies[section] = string(body.Body)
	}
	asked.Sections = nil
	described, err := json.Marshal(asked)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return newParts(t, string(described), bodies)
}

func (p *publisher) deleteOne(t *testing.T, c string) {
	stands := p.look(t, c, p.anyKey())
	if !stands.Live {
		return
	}
	d := &publishing{collection: c, everything: true, asked: holdfast.RecordPublication{
		Key: stands.Key, OperationID: p.operation(), IfRevision: &stands.Revision, Sections: &holdfast.Sections{},
	}}
	p.hear(t, d, p.insist(func() error { return p.remove(t, d) }))
}

func (p *publisher) remove(t *testing.T, d *publishing) error {
	answer, err := p.client.DeleteRecordWithResponse(t.Context(), d.collection, d.asked.Key, &holdfast.DeleteRecordParams{
		IfMatch: ptr(fmt.Sprintf("%q", fmt.Sprint(*d.asked.IfRevision))), IdempotencyKey: &d.asked.OperationID,
	})
	if err == nil {
		p.hearReceipt(d, *answer.JSON200, answer.Headers200.IdempotentReplayed != nil)
	}
	return err
}

// publishMany asks for several at once, and asks again for those that are open.
func (p *publisher) publishMany(t *testing.T, c string) {
	var open []*publishing
	for _, n := range p.rng.Perm(recordKeys)[:4] {
		d := p.any(t, c, fmt.Sprint("key/", n))
		p.send(d)
		open = append(open, d)
	}
	err := p.insist(func() error {
		var req holdfast.Publications
		for _, d := range open {
			req.Items = append(req.Items, d.asked)
		}
		answer, err := p.client.PublishRecordsWithResponse(t.Context(), c, nil, req)
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(d *publishing) bool {
			i := slices.IndexFunc(answer.JSON200.Items, func(r holdfast.PublicationResult) bool { return r.Key == d.asked.Key })
			result := answer.JSON200.Items[i]
			if problem := result.Problem; problem != nil {
				if problem.Code == "outcome_unknown" || problem.RetryAfter != nil {
					return false
				}
				p.hear(t, d, refusalOf(problem))
				return true
			}
			p.hearReceipt(d, *result.Receipt, result.Replayed != nil)
			p.hear(t, d, nil)
			return true
		})
		if len(open) > 0 {
			return errStillOpen
		}
		return nil
	})
	if err != nil {
		p.fault(t, "publish many: %v", err)
	}
}

// errStillOpen is for what is to be asked again.
var errStillOpen = refusalOf(&holdfast.RecordProblem{Code: "outcome_unknown"})

// repeat asks once more for something that was done.
func (p *publisher) repeat(t *testing.T) {
	if len(p.own) == 0 {
		return
	}
	d := p.own[p.rng.IntN(len(p.own))]
	again := *d
	ask := p.put
	if d.everything {
		ask = p.remove
	}
	if err := p.insist(func() error { return ask(t, &again) }); err != nil {
		p.fault(t, "%s was done, and asked again it gets %v", d.asked.OperationID, err)
		return
	}
	p.expectSameReceipt(t, d.receipt, again.receipt)
}

func (s *recordStorm) expectSameReceipt(t *testing.T, one, other holdfast.Receipt) {
	t.Helper()
	was, is := receiptText(one), receiptText(other)
	if was != is {
		s.fault(t, "a receipt was\n%s\nand then\n%s", was, is)
	}
}

func receiptText(r holdfast.Receipt) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // texts, numbers and times always marshal
	}
	return string(text)
}
