package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Rehearse takes collections of the tenant of qualifications through a migration of
// a kind, pass by pass as a run does, and measures it: each accepts a plan that
// nobody had to approve, is drained, and closed. No other tenant's can be reached by
// it.
//
// The first rehearsal in an installation raises the floor of its databases: from
// then on no process that knows format 1 alone is admitted. It is refused while one
// is alive.
//
// Errors: those of QualificationTenant; conflict processes_too_old, plan_differs;
// not found collection_not_found; what a walk fails with.
func (s *Service) Rehearse(ctx context.Context, caller tenancy.Scope, collections []string, kind Kind) (Movement, error) {
	tenant, err := s.QualificationTenant(ctx, caller)
	if err != nil {
		return Movement{}, err
	}
	if err := s.demandFormats(ctx, record.FormatStore); err != nil {
		return Movement{}, err
	}
	if err := s.control.DemandRecordFormat(ctx, record.FormatStore); err != nil {
		return Movement{}, err
	}
	id := domain.NewID[domain.MigrationKind](time.Now())
	m := Migration{ID: id, Tenant: tenant.ID, Kind: kind, PlanHash: rehearsalHash(id), Revision: 1}
	var measured Movement
	for _, name := range collections {
		c, err := s.records.Collection(ctx, tenancy.Scope{Tenant: tenant.ID}, name)
		if err != nil {
			return Movement{}, err
		}
		// A crash behind this leaves a collection of this run half moved, which is read
		// as any other is. The next run has collections of its own.
		if err := s.accept(ctx, &m, c); err != nil {
			return Movement{}, err
		}
		if err := s.rehearse(ctx, &m, c, &measured); err != nil {
			return Movement{}, err
		}
	}
	return measured, nil
}

// rehearsalHash is in the place of the plan that nobody made for a rehearsal. It tells
// a rehearsal's checkpoint from a migration's, of which the control database has a row.
func rehearsalHash(id domain.MigrationID) Hash {
	return sum([]byte(QualificationType + "/" + id.String()))
}

var errUnresolved = errors.New("some sections could not be moved")

// rehearse makes a collection's passes one at a time, each behind the other, so that
// each can be measured, and closes its checkpoint.
func (s *Service) rehearse(ctx context.Context, m *Migration, c record.Collection, into *Movement) error {
	number := record.NumberOf(c.Name)
	was := Counters{}
	for {
		begun := time.Now()
		came, err := s.walk(ctx, m.Tenant, number, c.ID, once())
		took := time.Since(begun)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		at, err := s.read(ctx, m.Tenant, number, c.ID)
		if err != nil {
			return err
		}
		into.count(was, at.Counters, took)
		was = at.Counters
		switch came {
		case walkSpent:
		case walkDrained:
			return s.closeOne(ctx, m, &at)
		default:
			return fmt.Errorf("%s is %s: %w", c.Name, came, errUnresolved)
		}
	}
}

// once is a budget of one pass.
func once() budget {
	spent := false
	return func(context.Context) (record.Caps, bool) {
		may := !spent
		spent = true
		return record.Caps(DefaultCaps), may
	}
}

// count counts in what a pass committed, and how fast.
func (m *Movement) count(before, after Counters, took time.Duration) {
	records, bytes := after.Moved-before.Moved, after.Bytes-before.Bytes
	m.Records += records
	m.Bodies += after.Bodies - before.Bodies
	m.Bytes += bytes
	m.Passes += after.Passes - before.Passes
	m.Milliseconds += took.Milliseconds()
	if records == 0 {
		return // it only looked
	}
	widen(&m.LowRecords, &m.HighRecords, float64(records)/took.Minutes())
	if bytes > 0 {
		widen(&m.LowBytes, &m.HighBytes, float64(bytes)/took.Seconds())
	}
}

// widen stretches a range by a rate. A rate of less than one counts as one.
func widen(low, high *int64, rate float64) {
	whole := max(1, int64(rate))
	if *low == 0 || whole < *low {
		*low = whole
	}
	*high = max(*high, whole)
}
