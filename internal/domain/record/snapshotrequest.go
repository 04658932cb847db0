package record

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// RequestedSnapshot is a snapshot that was asked for.
type RequestedSnapshot struct {
	Snapshot
	Database string // whose worker makes it
	Replayed bool   // an earlier request with the key asked for it
}

var (
	errSnapshotRunning = domain.Conflict("snapshot_running",
		"A snapshot of the collection is being made. Wait for it, or ask again when it has ended.")
	errSnapshotRemoved = domain.Gone("snapshot_removed",
		"The snapshot that was asked for with this Idempotency-Key has been removed, since newer ones were made. Use a new key.")
)

// sqlRequestSnapshot makes nothing where the collection has one of the id, or one
// that is running. Whatever is up to the sequence that it reads is in view of the
// walk, which begins later.
const sqlRequestSnapshot = `
INSERT INTO snapshots (tenant_id, number, collection_id, snapshot_id, collection, run, state, traceparent, requested_at, due_at,
       walking, after_key, after_section, began_at_sequence, after_sequence, parts, lines, length, attempts)
SELECT $1, c.number, c.collection_id, $4, c.collection, $5, 'running', $6, t.now, t.now,
       true, '', '', c.export_sequence, c.export_sequence, 0, 0, 0, 0
  FROM collections c CROSS JOIN (SELECT clock_timestamp() AS now) t
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3
ON CONFLICT DO NOTHING`

// RequestSnapshot asks for a snapshot of a collection, which the worker makes. With
// an idempotency key the snapshot's id derives from the caller, the collection and
// the key, and a retry is answered from the snapshot, for as long as it lives.
//
// Errors: not found collection_not_found, conflict object_store_missing, conflict
// snapshot_running (with the member snapshot_id), gone snapshot_removed;
// unavailable, outcome unknown.
func (s *Service) RequestSnapshot(ctx context.Context, scope tenancy.Scope, collection, idempotencyKey string) (RequestedSnapshot, error) {
	ref, err := refOf(collection)
	switch {
	case err != nil:
		return RequestedSnapshot{}, errNoCollection
	case s.store == nil:
		return RequestedSnapshot{}, errStoreMissing
	}
	id := domain.NewID[domain.SnapshotKind](time.Now())
	if idempotencyKey != "" {
		id = domain.DeriveID[domain.SnapshotKind](scope.Settings.IDKey, "snapshot", scope.Tenant.String(), scope.Principal.String(), ref.name, idempotencyKey)
	}
	for range maxAttempts {
		requested, err := s.requestSnapshot(ctx, scope, ref, id)
		if err != nil || requested.ID == id {
			return requested, err
		}
		// The one that was in the way has ended since.
	}
	return RequestedSnapshot{}, errBusy
}

func (s *Service) requestSnapshot(ctx context.Context, scope tenancy.Scope, ref ref, id domain.SnapshotID) (RequestedSnapshot, error) {
	var made bool
	var of *collection
	var all []*snapshot
	db := s.router.Database(ref.number)
	err := tenancy.Run(ctx, db, s.entry(scope.Tenant, ref.number), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlRequestSnapshot, int16(ref.number), ref.name, id, domain.RandomID[domain.TokenKind](), traceparent(ctx)).
			Exec(func(tag pgconn.CommandTag) error { made = tag.RowsAffected() == 1; return nil })
		queueReadCollection(tx, ref, &of)
		queueSnapshots(tx, ref, &all)
		return nil
	})
	switch {
	case err != nil:
		return RequestedSnapshot{}, err
	case of == nil:
		return RequestedSnapshot{}, errNoCollection
	}
	for _, sn := range all {
		switch {
		case sn.ID == id && sn.State == snapshotRemoving:
			return RequestedSnapshot{}, errSnapshotRemoved
		case sn.ID == id:
			return RequestedSnapshot{sn.shown(), db.Name, !made}, nil
		}
	}
	for _, sn := range all {
		if sn.State == SnapshotRunning {
			return RequestedSnapshot{}, errSnapshotRunning.With("snapshot_id", sn.ID.String())
		}
	}
	return RequestedSnapshot{}, nil
}

// traceparent is the W3C form of the context's span, or "" outside a trace.
func traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// origin links to the trace of the request that asked for the snapshot.
func (sn *snapshot) origin() []trace.Link {
	carrier := propagation.MapCarrier{"traceparent": sn.traceparent}
	origin := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	if !origin.IsValid() {
		return nil
	}
	return []trace.Link{{SpanContext: origin}}
}

const sqlListSnapshots = `
SELECT ` + snapshotColumns + `
  FROM (SELECT c.number, c.collection_id FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 LIMIT 1) c
 CROSS JOIN LATERAL (SELECT s.* FROM snapshots s
                      WHERE s.tenant_id = $1 AND s.number = c.number AND s.collection_id = c.collection_id OFFSET 0) s
 ORDER BY s.requested_at DESC, s.snapshot_id`

// queueSnapshots reads all of a collection's, the newest first. They are few.
func queueSnapshots(tx *tenancy.Tx, ref ref, all *[]*snapshot) {
	tx.Queue(sqlListSnapshots, int16(ref.number), ref.name).Query(func(rows pgx.Rows) (err error) {
		*all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*snapshot, error) { return scanSnapshot(row, tx.Tenant()) })
		return err
	})
}
