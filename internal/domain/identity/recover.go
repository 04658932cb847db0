package identity

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// standing is what a claim is worth to whoever else wants its key.
type standing int

const (
	obsolete  standing = iota // its owner doesn't know it, for good: anybody may remove it
	held                      // the owner's record holds the key, or its tombstone in quarantine
	undecided                 // the owner's operation lists it, and its deadline hasn't come
	helpable                  // the owner's operation lists it, and anybody may finish that
)

// judge tells a claim's standing from what its owner's bucket says.
func (c *claim) judge(owner *reading) standing {
	switch {
	case c.expired:
		return obsolete
	case owner.holds(c.link):
		return held
	case owner.operation == nil || !owner.operation.lists(c.link):
		return obsolete
	case owner.operation.overdue(owner.now):
		return helpable
	default:
		return undecided
	}
}

// clear looks into a claim that stands in somebody's way and removes it if that
// may be done: by finishing its owner's operation, or, when the owner doesn't
// know it, by exact token. It returns the claim's standing before, and for an
// undecided one how long its deadline is away.
func (s *Service) clear(ctx context.Context, tenant domain.TenantID, c *claim) (standing, time.Duration, error) {
	owner := &reading{record: c.owner}
	if !c.expired { // else nobody needs to be asked
		var err error
		if owner, err = s.read(ctx, tenant, c.owner, false); err != nil {
			return held, 0, err
		}
	}
	if err := s.reach(ctx, "judged"); err != nil {
		return held, 0, err
	}
	var err error
	found := c.judge(owner)
	switch found {
	case obsolete:
		s.metrics.recovered(ctx, "obsolete_claim")
		err = s.release(ctx, tenant, c.owner, []link{c.link})
	case helpable:
		err = s.help(ctx, tenant, owner.operation)
	case undecided:
		return found, owner.operation.deadline.Sub(owner.now), nil
	}
	return found, 0, err
}

// recover finishes the operation of a record, if it has one that is overdue or
// decided. It returns whether it did.
func (s *Service) recover(ctx context.Context, tenant domain.TenantID, record ref) (bool, error) {
	r, err := s.read(ctx, tenant, record, false)
	if err != nil || r.operation == nil || !r.operation.overdue(r.now) {
		return false, err
	}
	return true, s.help(ctx, tenant, r.operation)
}

// help finishes an operation that is overdue or decided: presumed abort for a
// prepared one, then its residue is released, then it is cleared. Any number
// may help at once, and its caller may still be running.
func (s *Service) help(ctx context.Context, tenant domain.TenantID, op *operation) error {
	ctx, span := s.tracer.Start(ctx, "identity.recover", trace.WithLinks(originOf(op)...))
	defer span.End()
	s.metrics.recovered(ctx, string(op.state)+"_operation")
	if op.state == prepared {
		_, err := s.abandon(ctx, tenant, op)
		return err
	}
	return s.finish(ctx, tenant, op)
}

// abandon aborts an operation and finishes it. One that is gone was finished by
// somebody else, and nothing is left to do.
func (s *Service) abandon(ctx context.Context, tenant domain.TenantID, op *operation) (gone bool, err error) {
	a := &aborting{op: op}
	if err := s.aborting.Do(ctx, s.router.Database(op.record.Number), tenant, a); err != nil {
		return false, err
	}
	if err := s.reach(ctx, "aborted"); err != nil {
		return false, err
	}
	if a.state == "" {
		return true, nil
	}
	decided := *op
	decided.state = a.state
	return false, s.finish(ctx, tenant, &decided)
}

// finish releases the residue of a decided operation and clears it.
func (s *Service) finish(ctx context.Context, tenant domain.TenantID, op *operation) error {
	if err := s.release(ctx, tenant, op.record, op.residue()); err != nil {
		return err
	}
	if err := s.reach(ctx, "released"); err != nil {
		return err
	}
	return s.finalizing.Do(ctx, s.router.Database(op.record.Number), tenant, &finalizing{op})
}

// release releases claims of one owner, side by side on their databases.
func (s *Service) release(ctx context.Context, tenant domain.TenantID, owner ref, links []link) error {
	releases := make([]*releasing, len(links))
	for i, l := range links {
		releases[i] = &releasing{owner, l}
	}
	return onDatabases(releases, func(r *releasing) *postgres.Database { return s.router.Database(r.link.Number) },
		func(db *postgres.Database, some []*releasing) error { return s.releasing.Do(ctx, db, tenant, some...) })
}

// originOf links to the trace of the request that prepared the operation.
func originOf(op *operation) []trace.Link {
	carrier := propagation.MapCarrier{"traceparent": op.traceparent}
	origin := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	if !origin.IsValid() {
		return nil
	}
	return []trace.Link{{SpanContext: origin}}
}

// traceparent is the W3C form of the context's span, or "" outside a trace.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
