package record

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCheckPlaces walks the collections' ids of which a database has any row,
// whatever table it stands in, and skips from one to the next.
const sqlCheckPlaces = `
WITH RECURSIVE step AS (
    SELECT $2::smallint AS number, $3::uuid AS collection_id, 0 AS nth
    UNION ALL
    SELECT n.number, n.collection_id, s.nth + 1 FROM step s CROSS JOIN LATERAL (
        SELECT p.number, p.collection_id
          FROM ((SELECT t.number, t.collection_id FROM records t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM sections_in_sql t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM section_chunks t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM sections_in_store t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM export_entries t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM receipts t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM fences t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM batches t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM batch_items t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM item_claims t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM snapshots t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM snapshot_parts t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM migration_checkpoints t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM migration_deferred t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)
                UNION ALL
                (SELECT t.number, t.collection_id FROM object_counts t
                  WHERE t.tenant_id = $1 AND (t.number, t.collection_id) > (s.number, s.collection_id) ORDER BY t.tenant_id, t.number, t.collection_id LIMIT 1)) p
         ORDER BY p.number, p.collection_id LIMIT 1) n
     WHERE s.nth < $4)
SELECT s.number, s.collection_id,
       (SELECT true FROM collections c
         WHERE c.number::integer = s.number::integer AND c.tenant_id = $1 AND c.collection_id = s.collection_id LIMIT 1) IS NOT NULL
  FROM step s WHERE s.nth > 0 ORDER BY s.nth`

// rowsPlace is where rows of a collection stand.
type rowsPlace struct {
	number     int16
	collection domain.CollectionID
	known      bool // the collection is there
}

// places looks for rows in numbers where no collection is that they could be of.
func (i *inspection) places(ctx context.Context, db *postgres.Database) error {
	last := rowsPlace{number: -1}
	for {
		var page []rowsPlace
		err := i.read(ctx, db, db.Numbers, func(tx *tenancy.Tx) {
			tx.Queue(sqlCheckPlaces, last.number, last.collection, checkPage).Query(func(rows pgx.Rows) (err error) {
				page, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p rowsPlace, err error) {
					err = row.Scan(&p.number, &p.collection, &p.known)
					return p, err
				})
				return err
			})
		})
		if err != nil {
			return err
		}
		for _, last = range page {
			if last.known {
				continue // it is judged as a collection
			}
			if err := i.stray(ctx, db, last); err != nil {
				return err
			}
		}
		if len(page) < checkPage {
			return nil
		}
	}
}

const sqlCheckNameOf = `
SELECT c.number, c.collection FROM collections c WHERE c.tenant_id = $1 AND c.collection_id = $2 LIMIT 1`

// stray tells what is known of rows without a collection.
func (i *inspection) stray(ctx context.Context, db *postgres.Database, p rowsPlace) error {
	v := Violation{Database: db.Name, Number: domain.Number(p.number), Collection: p.collection.String()}
	if !slices.Contains(db.Numbers, v.Number) {
		return i.tell(v.of(WrongDatabase, "Rows of the collection stand on a database that doesn't own their number, where nobody reads them. "+
			"Compare them with the number's own database, and remove them here."))
	}
	for _, other := range i.s.router.Databases() {
		if len(other.Numbers) == 0 {
			continue
		}
		var number *int16
		err := i.read(ctx, other, other.Numbers, func(tx *tenancy.Tx) {
			tx.Queue(sqlCheckNameOf, p.collection).Query(func(rows pgx.Rows) error {
				_, err := pgx.ForEachRow(rows, []any{&number, &v.Collection}, func() error { return nil })
				return err
			})
		})
		if err != nil {
			return err
		}
		if number != nil {
			return i.tell(v.of(WrongBucket, fmt.Sprintf("Rows of the collection stand here, and the collection in number %d: nobody looks for them here. "+
				"Nothing of Holdfast writes them here: find out what did, and remove them.", *number)))
		}
	}
	return i.tell(v.of(CollectionMissing, "Rows of a collection stand there that isn't there: no call finds them. "+
		"Nothing of Holdfast deletes a collection: restore its row from a backup, or remove these."))
}
