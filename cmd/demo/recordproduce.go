package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/clients/go"
)

const (
	producers     = 3
	ordersEach    = 12 // by a producer, the last of which is large
	largeOrder    = 1 << 20
	ordersToClose = 10
)

// produce lets producers publish at once, each with a client of its own.
func (sh *shop) produce(ctx context.Context, s *stack) error {
	errs := make([]error, producers)
	var all sync.WaitGroup
	for p := range producers {
		client, err := s.connect(sh.key)
		if err != nil {
			return err
		}
		all.Go(func() {
			for i := range ordersEach {
				change := holdfast.RecordChange{Producer: fmt.Sprint("till-", p), IfAbsent: true, Sections: map[string][]byte{"items": order(p, i), "plans": nil}}
				published, err := holdfast.Publish(ctx, client, orders, orderKey(p, i), change)
				if err != nil {
					errs[p] = err
					return
				}
				if published.Replayed || published.Revision != 1 || len(published.Changes) != 2 {
					errs[p] = fmt.Errorf("the receipt of %s is %+v", orderKey(p, i), published)
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func orderKey(producer, i int) string { return fmt.Sprintf("%d/%d", producer, i) }

// order is what a producer sells: bytes that are no text.
func order(producer, i int) []byte {
	unit := fmt.Appendf(nil, "order %d of till %d\x00\xff\n", i, producer)
	if i < ordersEach-1 {
		return unit
	}
	return bytes.Repeat(unit, largeOrder/len(unit)+1)[:largeOrder]
}

// read reads a large order in part and whole, and keeps a copy that isn't sent again.
func (sh *shop) read(ctx context.Context) error {
	const from, to = 500_000, 500_099
	key, want, asked := orderKey(1, ordersEach-1), order(1, ordersEach-1), fmt.Sprintf("bytes=%d-%d", from, to)
	part, err := sh.client.GetBodyWithResponse(ctx, orders, key, "items", &holdfast.GetBodyParams{Range: &asked})
	if err != nil {
		return err
	}
	if part.StatusCode() != http.StatusPartialContent || !bytes.Equal(part.Body, want[from:to+1]) {
		return fmt.Errorf("the range is %d bytes, with status %d", len(part.Body), part.StatusCode())
	}
	folder, err := os.MkdirTemp("", "holdfast-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "order")
	digest, err := holdfast.SaveBody(ctx, sh.client, orders, key, "items", file)
	if err != nil {
		return err
	}
	saved, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(saved, want) {
		return fmt.Errorf("the file has other bytes: %w", err)
	}
	kept := holdfast.BodyCopy{Bytes: saved, Digest: digest}
	changed, err := kept.Refresh(ctx, sh.client, orders, key, "items")
	if err != nil {
		return err
	}
	return expect(!changed, "the copy is another")
}

// closeSome is a worker's batch, and another's that wants the same.
func (sh *shop) closeSome(ctx context.Context) error {
	var keys []string
	for i := range ordersToClose {
		keys = append(keys, orderKey(2, i))
	}
	mine := holdfast.BatchOptions{Owner: "worker-1", Items: keys}
	done, err := holdfast.WorkBatch(ctx, sh.client, orders, mine, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		theirs := holdfast.BatchOptions{Owner: "worker-2", Items: keys}
		_, err := holdfast.WorkBatch(ctx, sh.client, orders, theirs, func(context.Context, *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
			return nil, errors.New("it got items that another batch has")
		})
		if !errors.Is(err, holdfast.ErrNothingClaimed) {
			return nil, fmt.Errorf("the other worker: %w", err)
		}
		changes := map[string]holdfast.RecordChange{}
		for _, key := range batch.Items() {
			changes[key] = holdfast.RecordChange{IfRevision: 1, Sections: map[string][]byte{"closed": []byte("done")}}
		}
		return changes, nil
	})
	if err != nil {
		return err
	}
	others := func(item holdfast.CompletedItem) bool {
		return item.Outcome != holdfast.OutcomePublished || item.Receipt.Revision != 2
	}
	return expect(len(done.Items) == ordersToClose && !slices.ContainsFunc(done.Items, others), "the outcomes are %+v", done.Items)
}
