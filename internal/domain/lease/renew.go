package lease

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Renewal is a lease that goes on.
type Renewal struct {
	World     string
	Epoch     int64
	ExpiresAt time.Time
	Term      time.Duration
	Remaining time.Duration // when this was decided: count it from when the request was sent
}

// Renew gives the holder a whole term from now on. It never shortens a term and
// never revives one that is over. Until the activation it goes no further than the
// time by which the lease must be activated.
//
// Errors: not found, conflict fenced or lease_expired, unavailable, outcome unknown
// (renew again).
func (s *Service) Renew(ctx context.Context, scope tenancy.Scope, world string, a Authority) (Renewal, error) {
	r := s.renewing(actorOf(scope), Renew{world, a})
	if r.err == nil {
		r.err = s.decide(ctx, scope.Tenant, &r.decision)
	}
	return r.renewal, r.err
}

// Renew asks for the renewal of one world's lease.
type Renew struct {
	World     string
	Authority Authority
}

// Renewed is what came of a Renew.
type Renewed struct {
	Renewal
	Err error
}

type renewing struct {
	decision
	renewal Renewal
	err     error
}

func (s *Service) renewing(caller journal.Actor, req Renew) *renewing {
	ref, err := refOf(req.World)
	if err != nil {
		return &renewing{err: errNoWorld}
	}
	r := &renewing{}
	r.decision = decision{world: ref, decide: func(w *locked) error {
		if err := w.holds(caller, &req.Authority); err != nil {
			return err
		}
		r.renewal = w.renew(caller)
		return nil
	}}
	return r
}

func (w *locked) renew(caller journal.Actor) Renewal {
	term := time.Duration(w.TermSeconds) * time.Second
	until := w.now.Add(term)
	if !w.Activated && until.After(w.ActivateBy) {
		until = w.ActivateBy
	}
	if until.After(w.ExpiresAt) {
		w.note(journal.KindLeaseRenewed, w.Epoch, caller, journal.Renewed{
			Epoch: w.Epoch, TermSeconds: w.TermSeconds, ExpiresAt: journal.Time(until),
		})
	}
	return Renewal{w.ref.id, w.Epoch, w.ExpiresAt, term, w.ExpiresAt.Sub(w.now)}
}

var errTooManyRenewals = domain.Invalid("too_many_renewals", "One request renews at most 1,000 leases.").At("/renewals")

// RenewAll renews many leases, each for itself. Its error is for a request that is
// no good as a whole.
func (s *Service) RenewAll(ctx context.Context, scope tenancy.Scope, all []Renew) ([]Renewed, error) {
	if len(all) > MaxRenewals {
		return nil, errTooManyRenewals
	}
	caller := actorOf(scope)
	asked := make([]*renewing, len(all))
	byDatabase := map[*postgres.Database][]*renewing{}
	for i, req := range all {
		asked[i] = s.renewing(caller, req)
		if asked[i].err == nil {
			db := s.router.Database(asked[i].world.number)
			byDatabase[db] = append(byDatabase[db], asked[i])
		}
	}
	var databases sync.WaitGroup
	for db, some := range byDatabase {
		databases.Go(func() { s.renewOn(ctx, db, scope.Tenant, some) })
	}
	databases.Wait()
	results := make([]Renewed, len(all))
	for i, r := range asked {
		r.renewal.World = all[i].World
		results[i] = Renewed{r.renewal, r.err}
	}
	return results, nil
}

func (s *Service) renewOn(ctx context.Context, db *postgres.Database, tenant domain.TenantID, some []*renewing) {
	decisions := make([]*decision, len(some))
	for i, r := range some {
		decisions[i] = &r.decision
	}
	for i, err := range s.decideEach(ctx, db, tenant, decisions) {
		some[i].err = err
	}
}
