package record

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// DueSnapshot is a snapshot on which there is work to do: an identity, of any
// tenant.
type DueSnapshot struct {
	Tenant     domain.TenantID
	Number     domain.Number
	Collection domain.CollectionID
	ID         domain.SnapshotID
}

const sqlDueSnapshots = `SELECT tenant_id, number, collection_id, snapshot_id FROM upkeep_snapshots(clock_timestamp(), $1)`

// SnapshotsDue gives the snapshots of a database on which there is work to do: of
// each tenant the one that has waited longest, for up to limit tenants, of whom
// those come first that have waited longest. It is the worker's.
//
// Errors: unavailable.
func (s *Service) SnapshotsDue(ctx context.Context, database string, limit int) ([]DueSnapshot, error) {
	db, err := s.database(database)
	if err != nil {
		return nil, err
	}
	rows, _ := db.Pool.Query(ctx, sqlDueSnapshots, limit)
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DueSnapshot])
	if err != nil {
		return nil, postgres.Classify(err)
	}
	return due, nil
}

// StepSnapshot does one bounded step of the work on a snapshot: it makes a part, or
// removes objects. Each is committed against the cursor as it was, so that any
// number of workers may make the same step at once, and each may be killed
// anywhere: a part is in the store before the row knows of it, and one that no row
// comes to know of is removed with its run, or by CountObjects.
//
// What can't be had now is tried again later, and fails the snapshot in the end;
// that is no error here. One whose step ends in an error waits for stepPause, so
// that it doesn't keep the tenant's others from their turn.
//
// Errors: conflict object_store_missing; unavailable.
func (s *Service) StepSnapshot(ctx context.Context, due DueSnapshot) (SweepStep, error) {
	if s.store == nil {
		return SweepStep{}, errStoreMissing
	}
	sn, err := s.loadSnapshot(ctx, due)
	switch {
	case domain.KindOf(err) == domain.KindForbidden: // suspended since
		return SweepStep{Done: true}, nil
	case err != nil:
		return SweepStep{}, err
	case sn == nil:
		return SweepStep{Done: true}, nil
	}
	ctx, span := s.tracer.Start(ctx, "record.snapshot", trace.WithLinks(sn.origin()...))
	defer span.End()
	switch sn.State {
	case SnapshotRunning:
		err = s.makePart(ctx, sn)
	case snapshotFailing, snapshotRemoving:
		err = s.removeSome(ctx, sn)
	default:
		return SweepStep{Done: true}, nil
	}
	switch {
	case errors.Is(err, errStepMade):
		return SweepStep{Visited: 1, Busy: true}, nil
	case err != nil:
		return SweepStep{Visited: 1}, errors.Join(err, s.pause(ctx, sn))
	}
	return SweepStep{Visited: 1, Recovered: 1}, nil
}

// stepPause is how long a snapshot waits whose step ended in an error.
const stepPause = 10 * time.Second

// pause has a snapshot wait, as it is. One of a worker that is stopped needn't.
func (s *Service) pause(ctx context.Context, sn *snapshot) error {
	if ctx.Err() != nil {
		return nil
	}
	err := s.move(ctx, sn, func(next *snapshot, now time.Time) { next.dueAt = now.Add(stepPause) }, nil)
	if errors.Is(err, errStepMade) {
		return nil
	}
	return err
}

const sqlReadSnapshot = `
SELECT ` + snapshotColumns + ` FROM snapshots s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.snapshot_id = $4`

func (s *Service) loadSnapshot(ctx context.Context, due DueSnapshot) (sn *snapshot, err error) {
	e := s.entry(due.Tenant, due.Number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(due.Number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		sn = nil
		tx.Queue(sqlReadSnapshot, int16(due.Number), due.Collection, due.ID).Query(func(rows pgx.Rows) (err error) {
			for rows.Next() {
				if sn, err = scanSnapshot(rows, due.Tenant); err != nil {
					return err
				}
			}
			return rows.Err()
		})
		return nil
	})
	return sn, err
}

// makePart makes the next part of a running snapshot, and ends the snapshot with
// the last one. No transaction is open while the store is waited for.
func (s *Service) makePart(ctx context.Context, sn *snapshot) error {
	release, err := s.memory.Take(ctx, sn.tenant, snapshotRoom(s.limits))
	if err != nil {
		return err
	}
	defer release()
	page, err := s.readPage(ctx, sn)
	if err != nil {
		return err
	}
	bodies := &ExportPage{Records: page.found}
	if err := s.exportBodies(ctx, tenancy.Scope{Tenant: sn.tenant}, Collection{ID: sn.of}, bodies, false); err != nil {
		return s.fail(ctx, sn, err)
	}
	text, lines, err := encodePart(page.found)
	if err != nil {
		return err
	}
	if lines < len(page.found) {
		page.found, page.last = page.found[:lines], false
	}
	if lines == 0 {
		return s.commitPage(ctx, sn, page, nil)
	}
	part := &SnapshotPart{Ordinal: sn.Parts + 1, Digest: DigestOf(text), Length: int64(len(text)), Lines: lines}
	if _, err := s.store.Ensure(ctx, sn.partKey(part.Ordinal, part.Digest), text, part.Digest, false); err != nil {
		return s.fail(ctx, sn, refused(err))
	}
	// A crash here leaves an object that nothing refers to.
	return s.commitPage(ctx, sn, page, part)
}

// fail notes that a step could not be made, since the store or a body failed, and
// has it tried again, or ends the snapshot: at once where other bytes are where an
// object belongs, which stay. Any other error is only passed on.
func (s *Service) fail(ctx context.Context, sn *snapshot, cause error) error {
	var e *domain.Error
	if ctx.Err() != nil || !errors.As(cause, &e) || e.Kind != domain.KindUnavailable || e.Code == "overloaded" {
		return cause
	}
	why := &SnapshotFailure{Code: e.Code}
	why.Key, _ = e.Members["key"].(string)
	why.Section, _ = e.Members["section"].(string)
	s.log.WarnContext(ctx, "a part of a snapshot can't be made", "collection_id", sn.of, "snapshot_id", sn.ID,
		"attempt", sn.attempts+1, "error", cause)
	if sn.attempts+1 < maxSnapshotAttempts && !corrupt(cause) {
		return s.postpone(ctx, sn)
	}
	return s.move(ctx, sn, func(next *snapshot, now time.Time) {
		next.State, next.EndedAt, next.dueAt, next.Failure, next.attempts = snapshotFailing, now, now, why, 0
	}, retireFailed)
}

// maxSnapshotAttempts at a step take about five minutes.
const maxSnapshotAttempts = 10

// postpone has a step tried again later, and later the more often it has failed.
func (s *Service) postpone(ctx context.Context, sn *snapshot) error {
	return s.move(ctx, sn, func(next *snapshot, now time.Time) {
		next.attempts++
		next.dueAt = now.Add(min(time.Second<<min(sn.attempts, 10), time.Minute))
	}, nil)
}
