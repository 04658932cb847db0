package purge

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The steps, in their order.
const (
	stepGates        = "gates"
	stepRows         = "rows"
	stepControl      = "control"
	stepJobs         = "jobs"
	stepObjects      = "objects"
	stepWait         = "wait"
	stepAgainObjects = "again_objects"
	stepAgainRows    = "again_rows"
	stepAgainControl = "again_control"
	stepAgainJobs    = "again_jobs"
	stepCounts       = "counts"
	stepForget       = "forget"
	stepClose        = "close"
	stepDone         = "done"
)

// next is the step behind another. Without an object store nothing can be under way
// to it, and nothing need be waited for.
func (s *Service) next(step string) string {
	switch step {
	case stepGates:
		return stepRows
	case stepRows:
		return stepControl
	case stepControl:
		return stepJobs
	case stepJobs:
		if s.objects == nil {
			return stepAgainRows
		}
		return stepObjects
	case stepObjects:
		return stepWait
	case stepWait:
		return stepAgainObjects
	case stepAgainObjects:
		return stepAgainRows
	case stepAgainRows:
		return stepAgainControl
	case stepAgainControl:
		return stepAgainJobs
	case stepAgainJobs:
		return stepCounts
	default:
		return stepDone
	}
}

// purge is a tenant's, as it was read.
type purge struct {
	tenant      domain.TenantID
	step        string
	turn        int64
	number      int16 // the next one
	hasObjects  bool
	afterObject string // the last that was counted
	objects     int64
	objectBytes int64
	jobs        int64
	control     map[string]int64 // rows of the control database, by table
	rows        map[string]int64 // of the data databases, once all are gone
	settledAt   time.Time
	purgedAt    time.Time
}

// errOutpaced tells that another worker did the step, and that this one did nothing.
var errOutpaced = errors.New("another worker has done the step")

const sqlReadPurge = `
SELECT p.step, p.turn, p.next_number, p.has_objects, p.after_object, p.objects, p.object_bytes, p.jobs, p.control_rows, p.rows, p.settled_at, p.purged_at
  FROM tenant_purges p WHERE p.tenant_id = $1`

// load reads a purge; nil before it has begun.
func (s *Service) load(ctx context.Context, tenant domain.TenantID) (*purge, error) {
	p := &purge{tenant: tenant}
	err := s.tenants.ControlRead(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlReadPurge, tenant).Scan(&p.step, &p.turn, &p.number, &p.hasObjects, &p.afterObject,
			&p.objects, &p.objectBytes, &p.jobs, &p.control, &p.rows, (*zeronull.Timestamptz)(&p.settledAt), (*zeronull.Timestamptz)(&p.purgedAt))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// sqlBeginPurge: the row is there already where an earlier purge of the same tenant
// was, which there is none of; so a second begin does nothing.
const sqlBeginPurge = `
INSERT INTO tenant_purges (tenant_id, step, turn, next_number, has_objects, after_object, objects, object_bytes, jobs, control_rows, began_at, stepped_at)
VALUES ($1, 'gates', 1, 0, false, '', 0, 0, 0, '{}', $2, $2)
ON CONFLICT (tenant_id) DO NOTHING`

// begin moves the tenant on and writes the purge down, both or neither.
func (s *Service) begin(ctx context.Context, tenant domain.TenantID) error {
	return s.tenants.BeginPurge(ctx, tenant, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlBeginPurge, tenant, s.now())
		return err
	})
}

const sqlSavePurge = `
UPDATE tenant_purges p
   SET step = $3, turn = turn + 1, next_number = $4, has_objects = $5, after_object = $6, objects = $7, object_bytes = $8, jobs = $9,
       control_rows = $10, rows = $11, settled_at = $12, purged_at = $13, stepped_at = $14, stalled = NULL
 WHERE p.tenant_id = $1 AND p.turn = $2`

// saveTx writes down where the purge stands behind a step, if nobody else has.
func (s *Service) saveTx(ctx context.Context, tx pgx.Tx, p *purge) error {
	tag, err := tx.Exec(ctx, sqlSavePurge, p.tenant, p.turn, p.step, p.number, p.hasObjects, p.afterObject, p.objects, p.objectBytes, p.jobs,
		p.control, p.rows, zeronull.Timestamptz(p.settledAt), zeronull.Timestamptz(p.purgedAt), s.now())
	if err == nil && tag.RowsAffected() == 0 {
		err = errOutpaced
	}
	return err
}

// save is saveTx in a transaction that a hold waits for, and that a hold refuses.
func (s *Service) save(ctx context.Context, p *purge) error {
	return s.tenants.Purging(ctx, p.tenant, func(ctx context.Context, tx pgx.Tx) error { return s.saveTx(ctx, tx, p) })
}

const sqlStall = `UPDATE tenant_purges p SET stalled = $2 WHERE p.tenant_id = $1 AND p.stalled IS DISTINCT FROM $2`

// stall notes why the purge doesn't come on, for whoever looks. The caller gets the
// error itself, so it is no harm where this fails too.
func (s *Service) stall(ctx context.Context, tenant domain.TenantID, why error) {
	code := domain.CodeOf(why)
	if code == "" {
		code = "internal"
	}
	_ = s.tenants.ControlTx(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlStall, tenant, code)
		return err
	})
}
