package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// orders is the collection that each shop keeps.
const orders = "orders"

// keepRecords lets two tenants keep records, one with its bodies in the database and
// one with them in the object store, and follows what changes meanwhile.
func keepRecords(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("Records, with their bodies in the database and in the object store")
	acme, globex := newShop(s.acme, 1), newShop(s.globex, 2)
	both := shops{acme, globex}
	defer both.stop()
	if err := n.steps([]step{
		{"an operator has globex's new collections keep their bodies in the object store", func() error { return admit(ctx, s, globex) }},
		{"acme and globex make a collection each, and follow what changes in it from now on", func() error { return both.each(ctx, (*shop).open) }},
		{"three producers of acme's publish 36 orders at once, three of 1 MiB", func() error { return acme.produce(ctx, s) }},
		{"three of globex's do likewise", func() error { return globex.produce(ctx, s) }},
		{"a price that comes behind a newer one is superseded, and changes nothing", func() error { return both.each(ctx, (*shop).supersede) }},
		{"of two changes that were made from one revision the second is refused", func() error { return both.each(ctx, (*shop).conflict) }},
	}); err != nil {
		return err
	}
	n.note("%v", globex.refusal)
	if err := n.steps([]step{
		{"a publication that is sent again is answered with its first receipt", func() error { return both.each(ctx, (*shop).repeat) }},
		{"a range of 1 MiB, and all of it as a file, are what was published, verified", func() error { return both.each(ctx, (*shop).read) }},
		{"a worker claims ten orders, which nobody else gets, and closes them at once", func() error { return both.each(ctx, (*shop).closeSome) }},
	}); err != nil {
		return err
	}
	w := &warehouse{stack: s}
	if err := n.steps([]step{
		{"a node takes the world quay over and publishes under its lease; acme is fenced", func() error { return w.holds(ctx) }},
		{"when the node has handed it back it is fenced itself, and acme publishes", func() error { return w.handedBack(ctx) }},
		{"a worker of Holdfast's takes a snapshot of each collection; its parts are verified", func() error { return both.atOnce(ctx, (*shop).takeSnapshot) }},
		{"the followers have missed nothing and seen nothing twice, over all their restarts", func() error { return both.each(ctx, (*shop).expectAllFollowed) }},
	}); err != nil {
		return err
	}
	for _, shop := range both {
		n.note("%s, format %d: %d changes came in %d pages; %d sections stand, as in the snapshot at sequence %d",
			shop.name, shop.format, shop.feed.changes, shop.feed.pages, len(shop.feed.state), *shop.snapshot.ExportSequence)
	}
	return n.step("holdfast record check reads every row and every body, and nothing is wrong", func() error {
		_, err := operate(ctx, "record", "check")
		return err
	})
}

// shop is a tenant that keeps orders.
type shop struct {
	*tenant
	format   int16 // that its collection has
	feed     *feed
	refusal  error // of a conflict
	snapshot holdfast.Snapshot
}

func newShop(t *tenant, format int16) *shop { return &shop{tenant: t, format: format, feed: newFeed()} }

type shops []*shop

// each lets every shop do something, one after the other.
func (all shops) each(ctx context.Context, do func(*shop, context.Context) error) error {
	for _, shop := range all {
		if err := do(shop, ctx); err != nil {
			return fmt.Errorf("%s: %w", shop.name, err)
		}
	}
	return nil
}

// atOnce is each, where there is something to wait for.
func (all shops) atOnce(ctx context.Context, do func(*shop, context.Context) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() { errs[i] = all[i:i+1].each(ctx, do) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (all shops) stop() {
	for _, shop := range all {
		shop.feed.stop()
	}
}

func admit(ctx context.Context, s *stack, to *shop) error {
	_, err := s.operator.SetStorageWithResponse(ctx, to.id, holdfast.SetStorage{RecordFormat: to.format})
	return err
}

func (sh *shop) open(ctx context.Context) error {
	made, err := sh.client.PutCollectionWithResponse(ctx, orders, holdfast.NewCollection{})
	if err != nil {
		return err
	}
	sh.feed.follow(ctx, sh.client)
	return expect(made.JSON201 != nil && made.JSON201.RecordFormat == sh.format, "the answer is %s", made.Body)
}

// supersede publishes a price twice and an older one between: it orders them by a
// fence, since it doesn't read before it writes.
func (sh *shop) supersede(ctx context.Context) error {
	for _, c := range []struct {
		revision int64
		price    string
		outcome  string
	}{{2, "12.50", holdfast.OutcomePublished}, {1, "11.90", holdfast.OutcomeSuperseded}, {2, "12.50", holdfast.OutcomeDeduplicated}} {
		change := holdfast.RecordChange{Producer: "price-feed", Sections: items(c.price), Fence: &holdfast.NewFence{Key: "apples", Revision: c.revision}}
		published, err := holdfast.Publish(ctx, sh.client, orders, "price/apples", change)
		if err != nil {
			return err
		}
		if published.Outcome != c.outcome || published.Revision != 1 {
			return fmt.Errorf("revision %d of the price is %s, at revision %d", c.revision, published.Outcome, published.Revision)
		}
	}
	return sh.expectBody(ctx, "price/apples", "12.50")
}

// conflict changes an order twice from its first revision.
func (sh *shop) conflict(ctx context.Context) error {
	const key = "0/0"
	first := holdfast.RecordChange{IfRevision: 1, Sections: items("two apples")}
	if _, err := holdfast.Publish(ctx, sh.client, orders, key, first); err != nil {
		return err
	}
	second := holdfast.RecordChange{IfRevision: 1, Sections: items("no apples"), ConflictBodies: true}
	_, sh.refusal = holdfast.Publish(ctx, sh.client, orders, key, second)
	var conflict *holdfast.RecordConflictError
	if !errors.As(sh.refusal, &conflict) || !holdfast.IsCode(sh.refusal, "revision_stale") {
		return fmt.Errorf("no conflict: %w", sh.refusal)
	}
	stands := conflict.Record.Sections["items"].Body
	return expect(conflict.Record.Revision == 2 && string(*stands) == "two apples", "it shows %q at revision %d", *stands, conflict.Record.Revision)
}

// repeat publishes under one operation id again, and something else under it.
func (sh *shop) repeat(ctx context.Context) error {
	change := holdfast.RecordChange{OperationID: "order-4711", IfAbsent: true, Sections: items("a pear")}
	first, err := holdfast.Publish(ctx, sh.client, orders, "4711", change)
	if err != nil {
		return err
	}
	again, err := holdfast.Publish(ctx, sh.client, orders, "4711", change)
	if err != nil {
		return err
	}
	if first.Replayed || !again.Replayed || !again.At.Equal(first.At) || again.Changes[0].ExportSequence != first.Changes[0].ExportSequence {
		return fmt.Errorf("the receipts are %+v and %+v", first, again)
	}
	change.Sections = items("two pears")
	_, err = holdfast.Publish(ctx, sh.client, orders, "4711", change)
	return expectCode(err, http.StatusConflict, "operation_id_reused")
}

func items(text string) map[string][]byte { return map[string][]byte{"items": []byte(text)} }

func (sh *shop) expectBody(ctx context.Context, key, want string) error {
	read, err := holdfast.ReadBody(ctx, sh.client, orders, key, "items")
	if err != nil {
		return err
	}
	return expect(string(read.Bytes) == want, "%s is %q", key, read.Bytes)
}
