package migration

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// observe counts what a migration would move, as long as it takes, in short
// statements, collection by collection, and the databases side by side. It writes
// nothing, and reads no body's content.
//
// Errors: unavailable.
func (s *Service) observe(ctx context.Context, m *Migration, prices Prices, rate Rate) (Observations, error) {
	seen := Observations{BeganAt: time.Now().UTC(), Prices: prices, Collections: []CollectionCount{}, Defects: DefectCount{First: []FoundDefect{}}}
	covered, err := s.covered(ctx, m)
	if err != nil {
		return Observations{}, err
	}
	slices.SortFunc(covered, func(a, b record.Collection) int { return strings.Compare(a.Name, b.Name) })
	if seen.Databases, err = s.databaseSizes(ctx); err != nil {
		return Observations{}, err
	}
	tallies, err := s.countAll(ctx, m, covered)
	if err != nil {
		return Observations{}, err
	}
	sizes := newHistogram()
	for i, t := range tallies {
		seen.add(t)
		sizes.merge(t.sizes)
		if m.Kind == RecordBodies {
			database := s.router.Database(record.NumberOf(covered[i].Name)).Name
			at := slices.IndexFunc(seen.Databases, func(d DatabaseSize) bool { return d.Name == database })
			seen.Databases[at].Reclaimable.Logical += t.count.Bytes
		}
	}
	seen.Sizes = sizes[:]
	seen.conclude(m.Kind, rate)
	seen.EndedAt = time.Now().UTC()
	return seen, nil
}

// countAll counts collections, on each database one after the other.
func (s *Service) countAll(ctx context.Context, m *Migration, covered []record.Collection) ([]*tally, error) {
	tallies := make([]*tally, len(covered))
	group, ctx := errgroup.WithContext(ctx)
	for _, db := range s.router.Databases() {
		group.Go(func() (err error) {
			for i := range covered {
				if s.router.Database(record.NumberOf(covered[i].Name)) != db {
					continue
				}
				if tallies[i], err = s.count(ctx, m.Tenant, m.Kind, &covered[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return tallies, group.Wait()
}

// add takes in a collection.
func (o *Observations) add(t *tally) {
	o.Collections = append(o.Collections, t.count)
	o.Total.Records += t.count.Records
	o.Total.Live += t.count.Live
	o.Total.Tombstones += t.count.Tombstones
	o.Total.Bytes += t.count.Bytes
	o.Defects.Length += t.defects.Length
	o.Defects.Export += t.defects.Export
	o.Defects.First = append(o.Defects.First, t.defects.First[:min(len(t.defects.First), firstDefects-len(o.Defects.First))]...)
}

// conclude says what follows from the counts.
func (o *Observations) conclude(kind Kind, rate Rate) {
	var distinct Distinct
	for i := range o.Collections {
		distinct.Bodies += o.Collections[i].Distinct.Bodies
		distinct.Bytes += o.Collections[i].Distinct.Bytes
	}
	o.Requests = Requests{LeastGets: distinct.Bodies, MostGets: o.Total.Live}
	if kind == Rehydrate {
		o.Growth = Growth{SQLBytes: o.Total.Bytes}
	} else {
		o.Requests.LeastPuts, o.Requests.MostPuts = distinct.Bodies, o.Total.Live
		o.Growth = Growth{StoreObjects: distinct.Bodies, StoreBytes: distinct.Bytes}
	}
	o.Price = o.Prices.of(o.Requests, o.Growth)
	o.Estimate = rate.estimate(o.Total.Records, o.Total.Bytes)
}

// Bytes are those of all bodies that are moved.
func (o *Observations) Bytes() int64 { return o.Total.Bytes }
