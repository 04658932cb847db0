package record

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// StoredSection is a section of the format that keeps bodies in the store.
type StoredSection struct {
	Key, Section string
	Live         bool
	Digest       Digest // of a live one
	Length       int64  // bytes

	generation int32
}

const sqlStoredSections = `
SELECT s.item_key, s.section, s.live, s.digest, s.length, coalesce(s.generation, 0)
  FROM sections_in_store s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND (s.item_key, s.section) > ($4, $5)
 ORDER BY s.item_key, s.section LIMIT $6`

// StoredSections gives up to limit sections of the store's format behind one, in the
// order of keys and sections; "" and "" for the first ones.
//
// Errors: unavailable.
func (s *Service) StoredSections(ctx context.Context, tenant domain.TenantID, of Collection, key, section string, limit int) (all []StoredSection, err error) {
	err = s.read(ctx, tenancy.Scope{Tenant: tenant}, of.Name, func(tx *tenancy.Tx, ref ref) {
		tx.Queue(sqlStoredSections, int16(ref.number), of.ID, key, section, limit).Query(func(rows pgx.Rows) (err error) {
			all, err = pgx.CollectRows(rows, scanStored)
			return err
		})
	})
	return all, err
}

func scanStored(row pgx.CollectableRow) (s StoredSection, err error) {
	var digest []byte
	err = row.Scan(&s.Key, &s.Section, &s.Live, &digest, &s.Length, &s.generation)
	copy(s.Digest[:], digest)
	return s, err
}

const sqlCountStored = `
SELECT count(*), coalesce(sum(s.length), 0)::bigint
  FROM sections_in_store s
 WHERE s.number::integer = $2::smallint::integer AND s.tenant_id = $1 AND s.collection_id = $3 AND s.live`

// CountStored counts a collection's bodies in the store, each section's by itself.
//
// Errors: unavailable.
func (s *Service) CountStored(ctx context.Context, tenant domain.TenantID, of Collection) (bodies, bytes int64, err error) {
	err = s.read(ctx, tenancy.Scope{Tenant: tenant}, of.Name, func(tx *tenancy.Tx, ref ref) {
		tx.Queue(sqlCountStored, int16(ref.number), of.ID).QueryRow(func(row pgx.Row) error { return row.Scan(&bodies, &bytes) })
	})
	return bodies, bytes, err
}

// StoredState is what became of a body that was looked for in the store.
type StoredState string

const (
	StoredSound       StoredState = "sound"       // read to its last byte, and just what its row says
	StoredChanged     StoredState = "changed"     // its section has been published anew, or moved, since
	StoredCorrupt     StoredState = "corrupt"     // other bytes stand there
	StoredMissing     StoredState = "missing"     // nothing stands there
	StoredUnreachable StoredState = "unreachable" // the store didn't say
)

// ReadStored reads a live section's body from the store, whole, and keeps nothing of
// it. A body that is wrong or missing is told as such only while the section still is
// as it was read: StoredCorrupt, StoredMissing. StoredUnreachable comes with why the store
// didn't say.
//
// Errors: conflict object_store_missing; unavailable, of the database, or overloaded.
func (s *Service) ReadStored(ctx context.Context, tenant domain.TenantID, of Collection, section StoredSection) (state StoredState, why error, err error) {
	if s.store == nil {
		return "", nil, errStoreMissing
	}
	release, err := s.memory.Take(ctx, tenant, section.Length)
	if err != nil {
		return "", nil, err
	}
	_, why = s.store.Fetch(ctx, bodyKey(tenant, of.ID, section.Digest, section.generation), section.Digest, section.Length)
	release()
	switch {
	case why == nil:
		return StoredSound, nil, nil
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case domain.CodeOf(why) == "object_missing":
		state = StoredMissing
	case corrupt(why):
		state = StoredCorrupt
	case domain.KindOf(why) == domain.KindUnavailable:
		return StoredUnreachable, why, nil
	default:
		return "", nil, why
	}
	still, err := s.stillStored(ctx, tenant, of, section)
	if err != nil || still {
		return state, why, err
	}
	return StoredChanged, nil, nil
}

const sqlStillStored = `
SELECT s.item_key, s.section, s.live, s.digest, s.length, coalesce(s.generation, 0)
  FROM sections_in_store s
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = $4 AND s.section = $5`

func (s *Service) stillStored(ctx context.Context, tenant domain.TenantID, of Collection, section StoredSection) (still bool, err error) {
	err = s.read(ctx, tenancy.Scope{Tenant: tenant}, of.Name, func(tx *tenancy.Tx, ref ref) {
		tx.Queue(sqlStillStored, int16(ref.number), of.ID, section.Key, section.Section).Query(func(rows pgx.Rows) error {
			all, err := pgx.CollectRows(rows, scanStored)
			still = len(all) == 1 && all[0] == section
			return err
		})
	})
	return still, err
}
