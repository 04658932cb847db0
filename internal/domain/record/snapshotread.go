package record

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	errNoSnapshot         = domain.NotFound("snapshot_not_found", "The collection has no snapshot of this id.")
	errSnapshotIncomplete = domain.Conflict("snapshot_incomplete", "The snapshot isn't complete, so there is nothing to download.")
)

// Snapshots gives a collection's snapshots, the newest first: the complete ones
// that are kept, one that is running, and the last one if it failed.
//
// Errors: not found collection_not_found, unavailable.
func (s *Service) Snapshots(ctx context.Context, scope tenancy.Scope, collection string) ([]Snapshot, error) {
	all, err := s.snapshotsOf(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	var shown []Snapshot
	for _, sn := range all {
		if sn.State != snapshotRemoving {
			shown = append(shown, sn.shown())
		}
	}
	return shown, nil
}

// Snapshot gives one of them.
//
// Errors: not found collection_not_found, snapshot_not_found; unavailable.
func (s *Service) Snapshot(ctx context.Context, scope tenancy.Scope, collection string, id domain.SnapshotID) (Snapshot, error) {
	sn, err := s.snapshotOf(ctx, scope, collection, id)
	if err != nil {
		return Snapshot{}, err
	}
	return sn.shown(), nil
}

func (s *Service) snapshotOf(ctx context.Context, scope tenancy.Scope, collection string, id domain.SnapshotID) (*snapshot, error) {
	all, err := s.snapshotsOf(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	for _, sn := range all {
		if sn.ID == id && sn.State != snapshotRemoving {
			return sn, nil
		}
	}
	return nil, errNoSnapshot
}

func (s *Service) snapshotsOf(ctx context.Context, scope tenancy.Scope, name string) (all []*snapshot, err error) {
	var of *collection
	err = s.read(ctx, scope, name, func(tx *tenancy.Tx, ref ref) {
		of = nil
		queueReadCollection(tx, ref, &of)
		queueSnapshots(tx, ref, &all)
	})
	if err == nil && of == nil {
		err = errNoCollection
	}
	return all, err
}

// SnapshotPart is a part of a complete snapshot. Whoever reads it verifies it.
type SnapshotPart struct {
	Ordinal int // from 1
	Digest  Digest
	Length  int64 // bytes
	Lines   int
	URL     string // downloads it for a while, for whoever has the URL
}

// SnapshotParts are a stretch of a complete snapshot's parts, in their order.
type SnapshotParts struct {
	Snapshot
	Parts     []SnapshotPart
	More      bool
	ExpiresAt time.Time // of the URLs
}

// MaxSnapshotParts is the most that one call signs URLs for.
const MaxSnapshotParts = 200

const sqlReadParts = `
SELECT p.ordinal, p.digest, p.length, p.lines FROM snapshot_parts p
 WHERE p.tenant_id = $1 AND p.number = $2 AND p.collection_id = $3 AND p.snapshot_id = $4 AND p.ordinal > $5
 ORDER BY p.ordinal LIMIT $6`

// PresignSnapshot signs URLs of up to limit parts of a complete snapshot, behind
// one, that work for PresignLife. What they lead to stays for longer than that,
// also when the snapshot is removed meanwhile.
//
// Errors: as Snapshot; conflict snapshot_incomplete, object_store_missing.
func (s *Service) PresignSnapshot(ctx context.Context, scope tenancy.Scope, collection string, id domain.SnapshotID, after, limit int) (SnapshotParts, error) {
	sn, err := s.snapshotOf(ctx, scope, collection, id)
	switch {
	case err != nil:
		return SnapshotParts{}, err
	case sn.State != SnapshotComplete:
		return SnapshotParts{}, errSnapshotIncomplete
	case s.store == nil:
		return SnapshotParts{}, errStoreMissing
	}
	if limit <= 0 || limit > MaxSnapshotParts {
		limit = MaxSnapshotParts
	}
	signed := SnapshotParts{Snapshot: sn.shown(), ExpiresAt: time.Now().Add(PresignLife).UTC().Truncate(time.Second)}
	err = s.read(ctx, scope, collection, func(tx *tenancy.Tx, ref ref) {
		tx.Queue(sqlReadParts, int16(sn.number), sn.of, id, after, limit+1).Query(func(rows pgx.Rows) (err error) {
			signed.Parts, err = pgx.CollectRows(rows, scanPart)
			return err
		})
	})
	if err != nil {
		return SnapshotParts{}, err
	}
	if signed.More = len(signed.Parts) > limit; signed.More {
		signed.Parts = signed.Parts[:limit]
	}
	for i := range signed.Parts {
		p := &signed.Parts[i]
		if p.URL, err = s.store.Presign(ctx, sn.partKey(p.Ordinal, p.Digest), sn.filename(p.Ordinal), PresignLife); err != nil {
			return SnapshotParts{}, err
		}
	}
	return signed, nil
}

func scanPart(row pgx.CollectableRow) (p SnapshotPart, err error) {
	var digest []byte
	err = row.Scan(&p.Ordinal, &digest, &p.Length, &p.Lines)
	copy(p.Digest[:], digest)
	return p, err
}

// filename is what a browser calls the downloaded part: "orders-1042.00001.ndjson".
func (sn *snapshot) filename(ordinal int) string {
	return fmt.Sprintf("%s-%d.%05d.ndjson", strings.ReplaceAll(sn.Collection, ":", "_"), sn.Sequence, ordinal)
}
