package httpapi

import (
	"context"
	"encoding/binary"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// RequestSnapshot serves POST /v1/collections/{collection}/snapshots.
func (s *server) RequestSnapshot(ctx context.Context, request RequestSnapshotRequestObject) (RequestSnapshotResponseObject, error) {
	requested, err := s.records.RequestSnapshot(ctx, caller(ctx), request.Collection, orZero(request.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	// Without this the worker finds it a little later, by its schedule.
	if _, err := s.jobs.Snapshots(ctx, requested.Database); err != nil {
		s.log.WarnContext(ctx, "nobody was asked to make the snapshot at once", "error", err)
	}
	return RequestSnapshot202JSONResponse{
		Body:    encodeSnapshot(requested.Snapshot),
		Headers: RequestSnapshot202ResponseHeaders{IdempotentReplayed: replayed(requested.Replayed)},
	}, nil
}

// ListSnapshots serves GET /v1/collections/{collection}/snapshots.
func (s *server) ListSnapshots(ctx context.Context, request ListSnapshotsRequestObject) (ListSnapshotsResponseObject, error) {
	all, err := s.records.Snapshots(ctx, caller(ctx), request.Collection)
	if err != nil {
		return nil, err
	}
	return ListSnapshots200JSONResponse{Snapshots: encodeAll(all, encodeSnapshot)}, nil
}

// GetSnapshot serves GET /v1/collections/{collection}/snapshots/{snapshot_id}. The
// position in the list of parts is the last part's ordinal.
func (s *server) GetSnapshot(ctx context.Context, request GetSnapshotRequestObject) (GetSnapshotResponseObject, error) {
	id, err := domain.ParseID[domain.SnapshotKind](request.SnapshotID)
	if err != nil {
		return nil, domain.NotFound("snapshot_not_found", "The collection has no snapshot of this id.")
	}
	list := listing{tenant: caller(ctx).Tenant, name: "snapshot-parts", filter: request.SnapshotID}
	after, err := resume(s.cursors, list, request.Params.Cursor, byOrdinal)
	if err != nil {
		return nil, err
	}
	sn, err := s.records.Snapshot(ctx, caller(ctx), request.Collection, id)
	if err != nil {
		return nil, err
	}
	page := SnapshotPage{Snapshot: encodeSnapshot(sn), Parts: []SnapshotPart{}}
	if sn.State == record.SnapshotComplete {
		signed, err := s.records.PresignSnapshot(ctx, caller(ctx), request.Collection, id, after, pageSize(request.Params.Limit))
		if err != nil {
			return nil, err
		}
		page.Parts = encodeAll(signed.Parts, encodePart)
		page.ExpiresAt = utcOrNil(&signed.ExpiresAt)
		page.NextCursor = nextCursor(s.cursors, list, signed.More, lastOrdinal(signed.Parts))
	}
	return GetSnapshot200JSONResponse{Body: page, Headers: GetSnapshot200ResponseHeaders{CacheControl: noStore}}, nil
}

// byOrdinal is the position in a list of parts.
func byOrdinal(position []byte) (int, error) {
	if len(position) != 4 {
		return 0, errCursor()
	}
	return int(binary.BigEndian.Uint32(position)), nil
}

func lastOrdinal(parts []record.SnapshotPart) []byte {
	if len(parts) == 0 {
		return nil
	}
	return binary.BigEndian.AppendUint32(nil, uint32(parts[len(parts)-1].Ordinal))
}

func encodeSnapshot(sn record.Snapshot) Snapshot {
	encoded := Snapshot{
		SnapshotID: sn.ID.String(), Collection: sn.Collection, State: SnapshotState(sn.State),
		RequestedAt: sn.RequestedAt.UTC(), PartCount: sn.Parts, Lines: sn.Lines, Length: sn.Length,
	}
	if sn.State != record.SnapshotRunning {
		encoded.EndedAt = utcOrNil(&sn.EndedAt)
	}
	if sn.State == record.SnapshotComplete {
		encoded.ExportSequence = &sn.Sequence
	}
	if f := sn.Failure; f != nil {
		encoded.Failure = &SnapshotFailure{Code: f.Code, Key: textOrNil(f.Key), Section: textOrNil(f.Section)}
	}
	return encoded
}

func encodePart(p record.SnapshotPart) SnapshotPart {
	return SnapshotPart{Ordinal: p.Ordinal, Digest: p.Digest.String(), Length: p.Length, Lines: p.Lines, URL: p.URL}
}
