package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// collection is one that the bench has made.
type collection struct {
	name string
	id   string
}

// objects is what the keys of its bodies' objects begin with.
func (s *stack) objects(c collection) string {
	return "tenants/" + s.tenantID + "/collections/" + c.id + "/"
}

func (c collection) path() string           { return "/v1/collections/" + c.name }
func (c collection) record(k string) string { return c.path() + "/records/" + k }
func (c collection) body(k string) string   { return c.record(k) + "/sections/items/body" }

// makeCollections makes collections of the format that the tenant is at.
func (s *stack) makeCollections(ctx context.Context, format int, names ...string) ([]collection, error) {
	made := make([]collection, len(names))
	for i, name := range names {
		var answered struct {
			ID     string `json:"collection_id"`
			Format int    `json:"record_format"`
		}
		path := collection{name: name}.path()
		if err := s.tenant.call(ctx, http.MethodPut, path, map[string]any{}, http.StatusCreated, &answered); err != nil {
			return nil, err
		}
		made[i] = collection{name, answered.ID}
		if answered.Format != format {
			return nil, fmt.Errorf("%s has the format %d, not %d", name, answered.Format, format)
		}
	}
	return made, nil
}

// keepInStore has the tenant's new collections keep their bodies in the object store.
func (s *stack) keepInStore(ctx context.Context) error {
	return s.operator.call(ctx, http.MethodPut, "/v1/tenants/"+s.tenantID+"/storage", map[string]any{"record_format": 2}, http.StatusOK, nil)
}

// published is what a receipt has in it of a publication that did something.
var published = []byte(`"outcome":"published","revision":`)

// demandPublished counts the publications that an answer reports, and demands so many.
func demandPublished(answer []byte, n int) error {
	if got := bytes.Count(answer, published); got != n {
		return fmt.Errorf("%d of %d records were published: %.1000s", got, n, answer)
	}
	return nil
}

func (w *wire) made(n int) error { return demandPublished(w.answer.Bytes(), n) }

// publish makes new records of one body each, one a request.
func (s *stack) publish(into collection, callers, size int, as form) round {
	publishers := newPublishers(callers, size)
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return s.tenant.overWires(ctx, callers, length, func(w *wire, caller int) error {
			p := publishers[caller]
			p.n++
			p.bodies.next()
			w.head = s.tenant.appendHead(w.head[:0], http.MethodPut, into.record(p.key()), as.media, "If-None-Match: *")
			if err := w.call(w.head, as.write(p, p.key()), http.StatusOK); err != nil {
				return err
			}
			return w.made(1)
		})
	}
}

// publishMany makes new records, so many a request, and counts records.
func (s *stack) publishMany(into collection, callers, records int) round {
	publishers := newPublishers(callers, bodySize)
	return func(ctx context.Context, length time.Duration) (Result, error) {
		head := s.tenant.head(http.MethodPost, into.path()+"/publish")
		result, err := s.tenant.overWires(ctx, callers, length, func(w *wire, caller int) error {
			if err := w.call(head, publishers[caller].many(records), http.StatusOK); err != nil {
				return err
			}
			return w.made(records)
		})
		result.Operations *= records
		return result, err
	}
}

// fillCollection makes the records that are read, and gives their keys.
func (s *stack) fillCollection(ctx context.Context, into collection, records, size int) ([]string, error) {
	const fillers = 4
	publishers := newPublishers(fillers, size)
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range publishers {
		group.Go(func() error { return s.publishSome(ctx, into, p, records*(i+1)/fillers-records*i/fillers) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var keys []string
	for _, p := range publishers {
		for ; p.n > 0; p.n-- {
			keys = append(keys, p.key())
		}
	}
	return keys, nil
}

func (s *stack) publishSome(ctx context.Context, into collection, p *publisher, records int) error {
	for range records {
		p.n++
		p.bodies.next()
		request, err := s.tenant.request(ctx, http.MethodPut, into.record(p.key()), p.parts(p.key()))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", mediaParts)
		request.Header.Set("If-None-Match", "*")
		if err := s.tenant.do(request, http.StatusOK, nil); err != nil {
			return err
		}
	}
	return nil
}
