package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The fake's snapshots: one in each state.
var (
	completeSnapshot = record.Snapshot{
		ID: domain.SnapshotID{1}, Collection: "orders", State: record.SnapshotComplete, RequestedAt: verifiedAt, EndedAt: verifiedAt,
		Sequence: 0, Parts: 3, Lines: 30, Length: 300,
	}
	runningSnapshot = record.Snapshot{ID: domain.SnapshotID{2}, Collection: "orders", State: record.SnapshotRunning, RequestedAt: verifiedAt}
	failedSnapshot  = record.Snapshot{
		ID: domain.SnapshotID{3}, Collection: "orders", State: record.SnapshotFailed, RequestedAt: verifiedAt, EndedAt: verifiedAt,
		Failure: &record.SnapshotFailure{Code: "body_unavailable", Key: "a", Section: "items"},
	}
)

func (f *fakeRecords) RequestSnapshot(ctx context.Context, _ tenancy.Scope, collection, key string) (record.RequestedSnapshot, error) {
	return record.RequestedSnapshot{Snapshot: runningSnapshot, Database: "data3", Replayed: key == "replayed"},
		f.call(ctx, "request snapshot", []string{collection, key})
}

func (f *fakeRecords) Snapshots(ctx context.Context, _ tenancy.Scope, collection string) ([]record.Snapshot, error) {
	return []record.Snapshot{runningSnapshot, failedSnapshot, completeSnapshot}, f.call(ctx, "snapshots", collection)
}

func (f *fakeRecords) Snapshot(ctx context.Context, _ tenancy.Scope, _ string, id domain.SnapshotID) (record.Snapshot, error) {
	for _, sn := range []record.Snapshot{runningSnapshot, failedSnapshot, completeSnapshot} {
		if sn.ID == id {
			return sn, f.call(ctx, "snapshot", id)
		}
	}
	return record.Snapshot{}, domain.NotFound("snapshot_not_found", "There is none.")
}

func (f *fakeRecords) PresignSnapshot(ctx context.Context, _ tenancy.Scope, _ string, _ domain.SnapshotID, after, limit int) (record.SnapshotParts, error) {
	signed := record.SnapshotParts{Snapshot: completeSnapshot, ExpiresAt: verifiedAt, More: after+limit < completeSnapshot.Parts}
	for ordinal := after + 1; ordinal <= min(after+limit, completeSnapshot.Parts); ordinal++ {
		signed.Parts = append(signed.Parts, record.SnapshotPart{Ordinal: ordinal, Length: 100, Lines: 10, URL: "https://store.example/part"})
	}
	return signed, f.call(ctx, "presign snapshot", after)
}

func (f *fakeRecords) SweepProgress(ctx context.Context) ([]record.SweepProgress, error) {
	return f.progress, f.call(ctx, "sweep progress", nil)
}
