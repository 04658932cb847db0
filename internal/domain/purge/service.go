package purge

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	// passRows is how many rows one transaction deletes.
	passRows = 500
	// pageObjects is how many objects a step deletes, and so how many may go behind a
	// legal hold that comes in the middle.
	pageObjects = 200
	// DefaultSettle is the time between the first and the second look for objects. A
	// request that was under way when the gates closed has ended by then, with its own
	// deadline, and a signature that was made before it is refused by the store.
	DefaultSettle = time.Hour
)

// Objects is the object store.
type Objects interface {
	// List gives up to limit objects whose keys begin with prefix, behind a key, in
	// the order of their keys' bytes, and tells whether more follow.
	List(ctx context.Context, prefix, after string, limit int) (objects []domain.Object, more bool, err error)
	// Delete deletes objects; those that are gone already are no error.
	Delete(ctx context.Context, keys ...string) error
}

// Tenants is what the purge needs of tenancy.Store.
type Tenants interface {
	PurgesDue(ctx context.Context, limit int) ([]domain.TenantID, error)
	BeginPurge(ctx context.Context, id domain.TenantID, then func(context.Context, pgx.Tx) error) error
	Purging(ctx context.Context, id domain.TenantID, fn func(context.Context, pgx.Tx) error) error
	SettlePurge(ctx context.Context, id domain.TenantID) error
	EndPurge(ctx context.Context, tx pgx.Tx, id domain.TenantID) error
	ControlTx(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
	ControlRead(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
}

// Options are what a Service can do without.
type Options struct {
	Settle time.Duration    // between the two looks for objects; DefaultSettle if 0
	Now    func() time.Time // time.Now if nil
}

// Service purges tenants. Any number may be at one at once.
type Service struct {
	router  *postgres.Router
	tenants Tenants
	objects Objects // nil without an object store
	settle  time.Duration
	now     func() time.Time
}

// New makes a service. objects is nil where there is no object store.
func New(router *postgres.Router, tenants Tenants, objects Objects, o Options) *Service {
	if o.Settle == 0 {
		o.Settle = DefaultSettle
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{router: router, tenants: tenants, objects: objects, settle: o.Settle, now: o.Now}
}

// Due gives the tenants whose purge can come on now, first those that haven't for
// longest.
func (s *Service) Due(ctx context.Context, limit int) ([]domain.TenantID, error) {
	return s.tenants.PurgesDue(ctx, limit)
}

// Step does the next step of a tenant's purge and tells whether another can follow at
// once. Without one, the purge is done, waits for something, or is another worker's.
// A tenant that is held, or of which nothing is to be purged, is left as it is.
//
// Errors: what keeps the purge from coming on, which stays with it until a step is
// done: conflict object_store_missing, copies_left; unavailable.
func (s *Service) Step(ctx context.Context, tenant domain.TenantID) (more bool, err error) {
	p, err := s.load(ctx, tenant)
	if err == nil && p == nil {
		err = s.begin(ctx, tenant)
		more = err == nil
	} else if err == nil {
		more, err = s.step(ctx, p)
	}
	switch {
	case err == nil:
		return more, nil
	case errors.Is(err, errOutpaced), errors.Is(err, tenancy.ErrNoPurge):
		return false, nil
	case domain.CodeOf(err) == "tenant_closed" && s.held(ctx, tenant):
		return false, nil // the hold came in the middle of the step, and has closed the gates
	}
	s.stall(ctx, tenant, err)
	return false, err
}

// held tells that the tenant isn't to be purged now.
func (s *Service) held(ctx context.Context, tenant domain.TenantID) bool {
	err := s.tenants.Purging(ctx, tenant, func(context.Context, pgx.Tx) error { return nil })
	return errors.Is(err, tenancy.ErrNoPurge)
}

func (s *Service) step(ctx context.Context, p *purge) (more bool, err error) {
	switch p.step {
	case stepGates:
		return true, s.closeGates(ctx, p)
	case stepRows, stepAgainRows:
		return s.purgeNumbers(ctx, p)
	case stepControl, stepAgainControl:
		return true, s.purgeControl(ctx, p)
	case stepJobs, stepAgainJobs:
		return s.purgeJobs(ctx, p)
	case stepObjects, stepAgainObjects:
		return true, s.purgeObjects(ctx, p)
	case stepWait:
		return s.wait(ctx, p)
	case stepCounts:
		return true, s.takeCounts(ctx, p)
	case stepForget:
		return true, s.end(ctx, p)
	case stepClose:
		return false, s.closeForGood(ctx, p)
	default:
		return false, nil
	}
}
