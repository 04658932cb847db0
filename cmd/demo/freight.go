package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/holdfast-dev/holdfast/clients/go"
)

const (
	shipmentsIn = "shipments" // the collection
	shipments   = 3000
	byFifties   = 50
	loaders     = 4
	changers    = 2
	changing    = 500 // of the shipments, over and over; the others are left to the passes
)

// freight is a tenant's shipments, of which it is known what was published last.
type freight struct {
	*tenant
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	last    map[string][]byte // by key
	changes int
	err     error
}

func newFreight(of *tenant) *freight {
	return &freight{tenant: of, cancel: func() {}, last: map[string][]byte{}}
}

func shipmentKey(i int) string { return fmt.Sprintf("%05d", i) }

// manifest is a body of some 2 KiB; every two hundredth has 600 KiB, which are kept in
// parts.
func manifest(i, version int) []byte {
	line := fmt.Appendf(nil, "shipment %d, version %d\x00\r\n", i, version)
	size := 2 << 10
	if i%200 == 0 {
		size = 600 << 10
	}
	return bytes.Repeat(line, size/len(line)+1)
}

// load publishes all of them, each for the first time.
func (f *freight) load(ctx context.Context) error {
	if _, err := f.client.PutCollectionWithResponse(ctx, shipmentsIn, holdfast.NewCollection{}); err != nil {
		return err
	}
	errs := make([]error, loaders)
	var all sync.WaitGroup
	for l := range loaders {
		all.Go(func() {
			for first := l * byFifties; first < shipments && errs[l] == nil; first += loaders * byFifties {
				errs[l] = f.loadFrom(ctx, first)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (f *freight) loadFrom(ctx context.Context, first int) error {
	var many holdfast.Publications
	absent := true
	for i := first; i < first+byFifties; i++ {
		body, key := manifest(i, 1), shipmentKey(i)
		f.know(key, body)
		many.Items = append(many.Items, holdfast.RecordPublication{
			Key: key, OperationID: "load-" + key, IfAbsent: &absent, Sections: &holdfast.Sections{"items": {Body: body}},
		})
	}
	published, err := f.client.PublishRecordsWithResponse(ctx, shipmentsIn, nil, many)
	if err != nil {
		return err
	}
	for _, item := range published.JSON200.Items {
		if item.Outcome != holdfast.OutcomePublished {
			return fmt.Errorf("%s is %s", item.Key, item.Outcome)
		}
	}
	return nil
}

func (f *freight) know(key string, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last[key] = body
}

// change lets producers change shipments, each its own, until stop.
func (f *freight) change(ctx context.Context, s *stack) error {
	ctx, f.cancel = context.WithCancel(ctx)
	for c := range changers {
		client, err := s.connect(f.key)
		if err != nil {
			return err
		}
		f.work.Go(func() {
			for version := 2; ctx.Err() == nil; version++ {
				i := (version*changers + c) % changing
				if err := f.changeOne(ctx, client, i, version); err != nil && ctx.Err() == nil {
					f.mu.Lock()
					f.err = errors.Join(f.err, err)
					f.mu.Unlock()
					return
				}
			}
		})
	}
	return nil
}

func (f *freight) changeOne(ctx context.Context, client *holdfast.ClientWithResponses, i, version int) error {
	key, body := shipmentKey(i), manifest(i, version)
	change := holdfast.RecordChange{
		Producer: "dispatch", Sections: map[string][]byte{"items": body}, Fence: &holdfast.NewFence{Key: key, Revision: int64(version)},
	}
	published, err := holdfast.Publish(context.WithoutCancel(ctx), client, shipmentsIn, key, change) // whole, so that it is known
	if err != nil {
		return err
	}
	if published.Outcome != holdfast.OutcomePublished {
		return fmt.Errorf("version %d of %s is %s", version, key, published.Outcome)
	}
	f.know(key, body)
	f.mu.Lock()
	f.changes++
	f.mu.Unlock()
	return nil
}

func (f *freight) stop() {
	f.cancel()
	f.work.Wait()
}

// settle lets the producers end, and reads everything.
func (f *freight) settle(ctx context.Context) error {
	f.stop()
	if f.err != nil {
		return f.err
	}
	seen := 0
	for page, err := range holdfast.FollowExport(ctx, f.client, shipmentsIn, holdfast.FollowOptions{Bodies: true, UntilCaughtUp: true}) {
		if err != nil {
			return err
		}
		for _, section := range page.Records {
			if seen++; !bytes.Equal(*section.Body, f.last[section.Key]) {
				return fmt.Errorf("%s isn't what was published last", section.Key)
			}
		}
	}
	return expect(seen == shipments && f.changes > 0, "%d shipments are there, behind %d changes", seen, f.changes)
}
