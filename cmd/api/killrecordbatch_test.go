package main

import (
	"fmt"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// workOnBatch claims items and completes the batch with some of them.
func (p *publisher) workOnBatch(t *testing.T, c string) {
	id := "batch of " + p.operation()
	var keys []string
	for _, n := range p.rng.Perm(recordKeys)[:3] {
		keys = append(keys, fmt.Sprint("key/", n))
	}
	var claimed *holdfast.Batch
	err := p.insist(func() error {
		answer, err := p.client.ClaimBatchWithResponse(t.Context(), c, nil, holdfast.NewBatch{BatchID: id, Owner: p.name, Items: keys, TermSeconds: ptr(holdfast.ClaimTerm(600))})
		if err == nil {
			claimed = answer.JSON200
		}
		return err
	})
	if err != nil {
		p.fault(t, "claim %s: %v", id, err)
		return
	}
	var all []*publishing
	req := holdfast.NewCompletion{OperationID: p.operation()}
	for _, item := range claimed.Items {
		if item.State != "leased" {
			continue
		}
		d := p.any(t, c, item.Key)
		p.send(d)
		a := &d.asked
		all = append(all, d)
		req.Items = append(req.Items, holdfast.ClaimedPublication{
			Key: a.Key, OperationID: a.OperationID, Generation: *item.Generation, Sections: a.Sections,
			Expect: a.Expect, Fence: a.Fence, IfAbsent: a.IfAbsent, IfRevision: a.IfRevision,
		})
	}
	if len(all) > 0 {
		p.complete(t, c, id, req, all)
	}
}

func (p *publisher) complete(t *testing.T, c, id string, req holdfast.NewCompletion, all []*publishing) {
	var done *holdfast.Completion
	err := p.insist(func() error {
		answer, err := p.client.CompleteBatchWithResponse(t.Context(), c, id, nil, req)
		if err == nil {
			done = answer.JSON200
		}
		return err
	})
	if err != nil {
		p.fault(t, "complete %s: %v", id, err)
		return
	}
	for i, item := range done.Items {
		switch d := all[i]; {
		case item.Receipt != nil:
			d.receipt = *item.Receipt
			p.hear(t, d, nil)
		case item.Problem != nil:
			p.hear(t, d, refusalOf(item.Problem))
		default:
			p.fault(t, "%s of %s came to %s", item.Key, id, item.Outcome)
		}
	}
}
