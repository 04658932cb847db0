package record

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCheckRecords reads so many keys, by whatever row there is under one, with the
// record and all that there is of its sections, as of one moment: what stands in
// either table, chunks, and what the export has of it. Chunks without a section are
// of format 0. Lengths are known without reading contents.
const sqlCheckRecords = `
SELECT k.item_key, c.record_format, c.sealed, c.export_sequence, c.row_identity, r.item_key IS NOT NULL, coalesce(r.revision, 0), coalesce(r.live, false),
       coalesce(s.format, -1), coalesce(s.section, ''), coalesce(s.live, false), s.digest, coalesce(s.length, 0), s.inline, coalesce(s.chunks, 0),
       s.generation, coalesce(s.row_identity, 0), coalesce(s.export_sequence, 0),
       coalesce(s.pieces, 0), coalesce(s.dense, true), coalesce(s.pieces_length, 0),
       (SELECT e.item_key FROM export_entries e
         WHERE e.tenant_id = $1 AND e.number = $2 AND e.collection_id = $3
           AND e.section = s.section AND e.export_sequence = s.export_sequence LIMIT 1) IS NOT DISTINCT FROM k.item_key,
       (SELECT true FROM unnest($6::text[]) AS n (section)
         CROSS JOIN LATERAL (SELECT FROM export_entries e
                              WHERE e.tenant_id = $1 AND e.number = $2 AND e.collection_id = $3
                                AND e.section = n.section AND e.export_sequence = s.export_sequence LIMIT 1) e
         WHERE n.section < s.section LIMIT 1) IS NOT NULL,
       (SELECT true FROM sections_in_sql o
         WHERE o.number::integer = $2::smallint::integer AND o.tenant_id = $1 AND o.collection_id = $3
           AND o.row_identity = s.row_identity AND (o.item_key, o.section) < (k.item_key, s.section) LIMIT 1) IS NOT NULL
  FROM (SELECT c.* FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $7 LIMIT 1) c
 CROSS JOIN (
       SELECT k.item_key
         FROM ((SELECT t.item_key FROM records t
                 WHERE t.tenant_id = $1 AND t.number = $2 AND t.collection_id = $3 AND t.item_key > $4 ORDER BY t.item_key LIMIT $5)
               UNION
               (SELECT DISTINCT t.item_key FROM sections_in_sql t
                 WHERE t.tenant_id = $1 AND t.number = $2 AND t.collection_id = $3 AND t.item_key > $4 ORDER BY t.item_key LIMIT $5)
               UNION
               (SELECT DISTINCT t.item_key FROM sections_in_store t
                 WHERE t.tenant_id = $1 AND t.number = $2 AND t.collection_id = $3 AND t.item_key > $4 ORDER BY t.item_key LIMIT $5)
               UNION
               (SELECT DISTINCT t.item_key FROM section_chunks t
                 WHERE t.tenant_id = $1 AND t.number = $2 AND t.collection_id = $3 AND t.item_key > $4 ORDER BY t.item_key LIMIT $5)) k
        ORDER BY k.item_key LIMIT $5) k
  LEFT JOIN LATERAL (SELECT r.* FROM records r
                      WHERE r.tenant_id = $1 AND r.number = $2 AND r.collection_id = $3 AND r.item_key = k.item_key LIMIT 1) r ON true
  LEFT JOIN LATERAL (
       SELECT 1::smallint AS format, s.section, s.live, s.digest, s.length, octet_length(s.content) AS inline, s.chunks,
              NULL::integer AS generation, s.row_identity, s.export_sequence, p.pieces, p.dense, p.pieces_length
         FROM sections_in_sql s
        CROSS JOIN LATERAL (SELECT count(*) AS pieces, coalesce(min(p.ordinal) = 0 AND max(p.ordinal) = count(*) - 1, true) AS dense,
                                   coalesce(sum(octet_length(p.content)), 0)::bigint AS pieces_length
                              FROM section_chunks p
                             WHERE p.tenant_id = $1 AND p.number = $2 AND p.collection_id = $3 AND p.item_key = k.item_key AND p.section = s.section) p
        WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = k.item_key
       UNION ALL
       SELECT 2::smallint, s.section, s.live, s.digest, s.length, NULL, 0, s.generation, NULL, s.export_sequence, NULL, NULL, NULL
         FROM sections_in_store s
        WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = k.item_key
       UNION ALL
       SELECT DISTINCT 0::smallint, p.section, NULL::boolean, NULL::bytea, NULL::bigint, NULL::integer, NULL::integer, NULL::integer,
              NULL::bigint, NULL::bigint, NULL::bigint, NULL::boolean, NULL::bigint
         FROM section_chunks p
        WHERE p.tenant_id = $1 AND p.number = $2 AND p.collection_id = $3 AND p.item_key = k.item_key
          AND NOT EXISTS (SELECT FROM sections_in_sql s
                           WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = k.item_key AND s.section = p.section)) s ON true
 ORDER BY k.item_key, s.section, s.format`

// inspectedRecord is what stands under a key.
type inspectedRecord struct {
	key      string
	format   int16 // the collection's, and whether it is sealed, and its counters
	sealed   bool
	sequence int64
	identity int64
	known    bool // there is a record
	revision int64
	live     bool
	sections []inspectedSection // by name; one may be there twice
	strayed  []string           // sections of which there are chunks only
}

// inspectedSection is a section's row, in either table.
type inspectedSection struct {
	format        int16
	name          string
	live          bool
	digest        []byte
	length        int64
	inline        *int32 // bytes of the content that is in the row; nil for none
	chunks        int32  // that the row says there are
	generation    *int32
	identity      int64
	sequence      int64
	pieces        int64 // chunks that there are
	dense         bool  // numbered from 0
	piecesLength  int64 // bytes in them
	exported      bool  // the export has it where its last change was
	sequenceTwice bool  // another section's change has its place
	identityTwice bool  // another row has its identity
}

// records looks at every record, and at the bodies of its live sections.
func (w *inspectedCollection) records(ctx context.Context) error {
	for after, more := "", true; more; {
		page, err := w.recordPage(ctx, after)
		if err != nil {
			return err
		}
		var census Census
		var bodies []wantedBody
		for n := range page {
			r := &page[n]
			wrong, readable := w.judgeRecord(r)
			if err := w.tellAll(wrong); err != nil {
				return err
			}
			bodies = append(bodies, readable...)
			census.add(r.census())
			after = r.key
		}
		w.count(census)
		if w.Bodies {
			if err := w.readBodies(ctx, bodies); err != nil {
				return err
			}
		}
		more = len(page) == checkPage
	}
	return nil
}

func (w *inspectedCollection) recordPage(ctx context.Context, after string) (page []inspectedRecord, err error) {
	err = w.look(ctx, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckRecords, w.number, w.id, after, checkPage, w.profile.Sections(), w.violation.Collection).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var r inspectedRecord
				var s inspectedSection
				if err := rows.Scan(&r.key, &r.format, &r.sealed, &r.sequence, &r.identity, &r.known, &r.revision, &r.live,
					&s.format, &s.name, &s.live, &s.digest, &s.length, &s.inline, &s.chunks, &s.generation, &s.identity, &s.sequence,
					&s.pieces, &s.dense, &s.piecesLength, &s.exported, &s.sequenceTwice, &s.identityTwice); err != nil {
					return err
				}
				if n := len(page); n == 0 || page[n-1].key != r.key {
					page = append(page, r)
				}
				page[len(page)-1].add(s)
			}
			return rows.Err()
		})
	})
	return page, err
}

// add puts a row of a section to the record, which may have none.
func (r *inspectedRecord) add(s inspectedSection) {
	switch s.format {
	case FormatSQL, FormatStore:
		r.sections = append(r.sections, s)
	case 0:
		r.strayed = append(r.strayed, s.name)
	}
}

func (r *inspectedRecord) census() (c Census) {
	if r.known {
		c.Records = 1
	}
	for _, s := range r.sections {
		if s.live {
			c.Live++
		} else {
			c.Tombstones++
		}
	}
	return c
}
