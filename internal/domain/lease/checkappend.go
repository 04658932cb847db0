package lease

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Verdict says whether an append would have been accepted.
type Verdict struct {
	Accepted bool
	Refusal  *domain.Error // why not; nil if accepted
	State    State
}

// CheckAppend tells whether the caller may write to a world now. It writes nothing,
// not even evidence, and promises nothing of the next moment.
//
// Errors: not found, unavailable.
func (s *Service) CheckAppend(ctx context.Context, scope tenancy.Scope, world string, a *Authority) (Verdict, error) {
	h, now, err := s.readHead(ctx, scope.Tenant, world)
	if err != nil {
		return Verdict{}, err
	}
	h.rejected = false
	w := &locked{head: *h, now: later(now, h.LastAt), rejections: map[journal.Actor]*rejection{}}
	w.settle() // in this copy only
	if w.fault != nil {
		return Verdict{}, w.fault
	}
	verdict := Verdict{State: w.state()}
	err = w.fence(actorOf(scope), a)
	if err != nil && !errors.As(err, &verdict.Refusal) {
		return Verdict{}, err
	}
	verdict.Accepted = err == nil
	return verdict, nil
}
