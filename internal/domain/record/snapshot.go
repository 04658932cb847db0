package record

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Snapshot is all of a collection's sections as they stood at one export sequence.
// It is lines of NDJSON (SnapshotLine) in parts that are objects: whoever applies
// them in order has, of each section, what its last line says. It is derived, and
// decides nothing about the bodies that it was made from.
//
// It is made without a lock, and without a view of the database that is held open:
// the records are walked by key, while changes go on, and then the export is read,
// behind the sequence at which the walk began, up to a page that reaches the
// counter. A section that didn't change behind that sequence is as the walk found
// it; every other has its last line from the export.
type Snapshot struct {
	ID          domain.SnapshotID
	Collection  string
	State       SnapshotState
	RequestedAt time.Time
	EndedAt     time.Time // zero while it is running
	Sequence    int64     // that a complete one is of
	Parts       int       // so far, while it is running
	Lines       int64     // of all parts
	Length      int64     // bytes of all parts
	Failure     *SnapshotFailure
}

// SnapshotState is how far a snapshot is.
type SnapshotState string

const (
	SnapshotRunning  SnapshotState = "running"
	SnapshotComplete SnapshotState = "complete"
	SnapshotFailed   SnapshotState = "failed"

	// Inside: objects are removed, of one that failed, and of one that nobody sees
	// any more.
	snapshotFailing  SnapshotState = "failing"
	snapshotRemoving SnapshotState = "removing"
)

// SnapshotFailure is why a snapshot could not be made.
type SnapshotFailure struct {
	Code    string // body_unavailable, or object_store_unavailable where a part couldn't be stored
	Key     string // of the record whose body it was; "" for a part
	Section string
}

// snapshotsKept are the complete ones that a collection keeps.
const snapshotsKept = 2

// snapshot is a snapshot's row.
type snapshot struct {
	Snapshot
	tenant      domain.TenantID
	number      domain.Number
	of          domain.CollectionID
	run         domain.Token // below which its objects are; never used again
	traceparent string       // of the request that asked for it
	dueAt       time.Time    // when the worker may go on with it
	snapshotCursor
}

// snapshotCursor is where the work on a snapshot stands, beside the number of its
// parts.
type snapshotCursor struct {
	walking                bool
	afterKey, afterSection string // of the walk
	afterSequence          int64  // of the export
	attempts               int    // at the next step that have failed
}

const snapshotColumns = `s.number, s.collection_id, s.snapshot_id, s.collection, s.run, s.state, s.traceparent, s.requested_at, s.ended_at,
       s.due_at, s.walking, s.after_key, s.after_section, s.after_sequence, coalesce(s.sequence, 0), s.parts, s.lines, s.length,
       s.attempts, s.failure, coalesce(s.failed_key, ''), coalesce(s.failed_section, '')`

func scanSnapshot(row pgx.CollectableRow, tenant domain.TenantID) (*snapshot, error) {
	sn := &snapshot{tenant: tenant}
	var number int16
	var endedAt *time.Time
	var failure *string
	var at SnapshotFailure
	err := row.Scan(&number, &sn.of, &sn.ID, &sn.Collection, &sn.run, &sn.State, &sn.traceparent, &sn.RequestedAt, &endedAt,
		&sn.dueAt, &sn.walking, &sn.afterKey, &sn.afterSection, &sn.afterSequence, &sn.Sequence, &sn.Parts, &sn.Lines, &sn.Length,
		&sn.attempts, &failure, &at.Key, &at.Section)
	if endedAt != nil {
		sn.EndedAt = endedAt.UTC()
	}
	if failure != nil {
		at.Code = *failure
		sn.Failure = &at
	}
	sn.number, sn.RequestedAt = domain.Number(number), sn.RequestedAt.UTC()
	return sn, err
}

// shown is a snapshot as callers see it. Of one that failed there are no parts.
func (sn *snapshot) shown() Snapshot {
	shown := sn.Snapshot
	if sn.State == snapshotFailing || sn.State == SnapshotFailed {
		shown.State, shown.Parts, shown.Lines, shown.Length = SnapshotFailed, 0, 0, 0
	}
	return shown
}

// snapshotsPrefix is what the keys of all snapshots' objects of a collection begin
// with.
func snapshotsPrefix(tenant domain.TenantID, collection domain.CollectionID) string {
	return collectionPrefix(tenant, collection) + "snapshots/v1/"
}

// prefix is what the keys of the run's objects begin with.
func (sn *snapshot) prefix() string {
	return fmt.Sprintf("%s%s/%s/", snapshotsPrefix(sn.tenant, sn.of), sn.ID, sn.run)
}

func (sn *snapshot) partKey(ordinal int, digest Digest) string {
	return sn.prefix() + partName(ordinal, digest)
}

func partName(ordinal int, digest Digest) string {
	return fmt.Sprintf("%08d-%s.ndjson", ordinal, digest)
}
