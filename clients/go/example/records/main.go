// Command records keeps a shop's orders: it publishes some, changes one by
// compare-and-swap, reads a body back, has a worker close a batch of them, and follows
// all of that as an index of the shop's would. The key's principal needs the scopes
// record:read and record:write.
//
//	HOLDFAST_URL=http://127.0.0.1:8080 HOLDFAST_API_KEY=hf_… go run ./clients/go/example/records
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Getenv("HOLDFAST_URL"), os.Getenv("HOLDFAST_API_KEY")); err != nil {
		fmt.Fprintln(os.Stderr, "records:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, key string) error {
	client, err := holdfast.Connect(url, key)
	if err != nil {
		return err
	}
	shop := shop{client: client, orders: fmt.Sprintf("orders-%d", time.Now().UnixNano())}
	if _, err := client.PutCollectionWithResponse(ctx, shop.orders, holdfast.NewCollection{}); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{shop.publish, shop.change, shop.read, shop.close, shop.index} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// shop keeps orders in one collection.
type shop struct {
	client *holdfast.ClientWithResponses
	orders string
}

// body is what a section has: any bytes at all.
func body(text string) map[string][]byte { return map[string][]byte{"items": []byte(text)} }

func (s *shop) publish(ctx context.Context) error {
	for _, key := range []string{"2026/1", "2026/2", "2026/3"} {
		// The id lets this be repeated, after a crash too, and be done once.
		change := holdfast.RecordChange{OperationID: "order-" + key, IfAbsent: true, Sections: body("two apples")}
		published, err := holdfast.Publish(ctx, s.client, s.orders, key, change)
		if err != nil {
			return err
		}
		fmt.Printf("Published %s, at revision %d.\n", key, published.Revision)
	}
	return nil
}

// change adds to an order what it was read with, unless somebody else changed it
// meanwhile; then it looks at what stands there now.
func (s *shop) change(ctx context.Context) error {
	record, err := holdfast.ReadRecord(ctx, s.client, s.orders, "2026/1")
	if err != nil {
		return err
	}
	more := body(string(*record.Sections["items"].Body) + " and a pear")
	published, err := holdfast.Publish(ctx, s.client, s.orders, record.Key, holdfast.RecordChange{IfRevision: record.Revision, Sections: more})
	if err != nil {
		return err
	}
	fmt.Printf("Changed it, to revision %d.\n", published.Revision)

	_, err = holdfast.Publish(ctx, s.client, s.orders, record.Key, holdfast.RecordChange{IfRevision: record.Revision, Sections: body("nothing")})
	var conflict *holdfast.RecordConflictError
	if !errors.As(err, &conflict) {
		return fmt.Errorf("a change of an old revision: %w", err)
	}
	fmt.Printf("A change of revision %d is refused: it is at revision %d.\n", record.Revision, conflict.Record.Revision)
	return nil
}

// read keeps a copy of a body, which stays where the body can't be had.
func (s *shop) read(ctx context.Context) error {
	var kept holdfast.BodyCopy
	for range 2 {
		changed, err := kept.Refresh(ctx, s.client, s.orders, "2026/1", "items")
		if err != nil {
			return err
		}
		fmt.Printf("The copy is %q; it has changed: %v.\n", kept.Bytes, changed)
	}
	return nil
}

// close is a worker that closes orders. Any number of them may run: each item is one
// batch's at a time.
func (s *shop) close(ctx context.Context) error {
	options := holdfast.BatchOptions{Owner: "worker-1", Items: []string{"2026/1", "2026/2", "2026/3"}}
	done, err := holdfast.WorkBatch(ctx, s.client, s.orders, options, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		changes := map[string]holdfast.RecordChange{}
		for _, key := range batch.Items() {
			record, err := holdfast.ReadRecord(ctx, s.client, s.orders, key)
			if err != nil {
				return nil, err
			}
			changes[key] = holdfast.RecordChange{
				IfRevision: record.Revision,
				Sections:   map[string][]byte{"closed": *record.Sections["items"].Body}, // items becomes a tombstone
			}
		}
		return changes, nil
	})
	if err != nil {
		return err
	}
	for _, item := range done.Items {
		fmt.Printf("Closed %s: %s.\n", item.Key, item.Outcome)
	}
	return nil
}

// index reads what has changed from the beginning. A real one keeps the sequence with
// what it made of a page, and leaves out UntilCaughtUp.
func (s *shop) index(ctx context.Context) error {
	live, kept := map[string]string{}, int64(0)
	for page, err := range holdfast.FollowExport(ctx, s.client, s.orders, holdfast.FollowOptions{After: kept, Bodies: true, UntilCaughtUp: true}) {
		if err != nil {
			return err
		}
		for _, section := range page.Records {
			name := section.Key + " " + section.Section
			delete(live, name)
			if section.Live {
				live[name] = string(*section.Body)
			}
		}
		kept = page.Next
	}
	fmt.Printf("The index has %d bodies, up to sequence %d; of 2026/1, %q.\n", len(live), kept, live["2026/1 closed"])
	return nil
}
