package qualify

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	errNoStore = errors.New("this process has no object store")
	errNotRun  = errors.New("not tried, since what it needs had failed")
)

// migration takes a collection on each database through a small migration, there
// and back. What comes behind a failure isn't tried.
func (r *run) migration(ctx context.Context) {
	var names, before []string
	going := r.observe("there is a tenant of qualifications, and it is open", func() (string, error) {
		t, err := r.Migrations.QualificationTenant(ctx, r.Caller)
		r.scope = tenancy.Scope{Tenant: t.ID, Principal: domain.ID[domain.PrincipalKind](r.id), Name: "qualify"}
		return t.ID.String(), err
	})
	then := func(promise string, look func() (string, error)) {
		if !going {
			look = func() (string, error) { return "", errNotRun }
		}
		going = r.observe(promise, look) && going
	}
	then("format 1: records of every kind are published, and read back", func() (_ string, err error) {
		names = r.names()
		for _, name := range names {
			if err := r.fill(ctx, name); err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
		}
		before, err = r.seen(ctx, names)
		return fmt.Sprintf("%d records in each of %d collections, one on each database", recordsEach, len(names)), err
	})
	for _, way := range []struct {
		name  string
		kind  migration.Kind
		to    int16
		moved *migration.Movement
	}{
		{"there", migration.RecordBodies, record.FormatStore, &r.report.Forward},
		{"back", migration.Rehydrate, record.FormatSQL, &r.report.Back},
	} {
		then(way.name+": every record is moved, and the totals are the rows'", func() (_ string, err error) {
			if *way.moved, err = r.Migrations.Rehearse(ctx, r.Caller, names, way.kind); err != nil {
				return "", err
			}
			m := *way.moved
			return fmt.Sprintf("%d records, %d bodies of %d bytes in %d passes and %d ms", m.Records, m.Bodies, m.Bytes, m.Passes, m.Milliseconds),
				r.totals(ctx, names, way.to, m)
		})
		then(way.name+": readers see what they saw before", func() (string, error) {
			after, err := r.seen(ctx, names)
			return fmt.Sprintf("%d lines of records, sections and the export", len(after)), errors.Join(err, difference(before, after))
		})
		then(way.name+": a retry gets its receipt", func() (string, error) { return "", r.retry(ctx, names) })
	}
}

// totals hold what a migration says that it moved to what there is: by the check
// that production data is held to, every body read.
func (r *run) totals(ctx context.Context, names []string, format int16, m migration.Movement) error {
	var records, bodies, bytes int64
	for _, name := range names {
		c, err := r.Records.Collection(ctx, r.scope, name)
		if err != nil {
			return err
		}
		if c.Format != format {
			return fmt.Errorf("%s is of format %d", name, c.Format)
		}
		n, err := r.Records.Check(ctx, r.scope.Tenant, record.Checking{
			Collection: name, Bodies: true,
			Found: func(v record.Violation) error { return fmt.Errorf("%s: %s of %s: %s", name, v.Kind, v.Key, v.Detail) },
		})
		if err != nil {
			return err
		}
		if n.Unreachable > 0 {
			return fmt.Errorf("%s: %d bodies can't be read", name, n.Unreachable)
		}
		records, bodies, bytes = records+n.Records, bodies+n.Bodies, bytes+n.Bytes
	}
	if m.Records != records || m.Bodies != bodies || m.Bytes != bytes {
		return fmt.Errorf("there are %d records with %d bodies of %d bytes, and %d, %d and %d were moved",
			records, bodies, bytes, m.Records, m.Bodies, m.Bytes)
	}
	return nil
}

// retry publishes a record of each collection once more, as it was first published.
func (r *run) retry(ctx context.Context, names []string) error {
	for _, name := range names {
		receipt, err := r.Records.Publish(ctx, r.scope, name, nil, record.Publication{
			Key: "record-00", OperationID: "first-0", Expect: record.Expectation{Absent: true},
			Bodies: map[string][]byte{"items": []byte(common)},
		})
		if err != nil || !receipt.Replayed || receipt.Revision != r.first[name] {
			return errors.Join(err, fmt.Errorf("%s: the receipt is of revision %d, want %d, replayed %t", name, receipt.Revision, r.first[name], receipt.Replayed))
		}
	}
	return nil
}
