package migration

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// countedRows is how many sections one statement of a count goes through.
const countedRows = 5000

// A page of a collection's sections, in the order of their keys, behind one. A
// section that is written meanwhile keeps its key, so it is counted once. Contents
// stay where they are: PostgreSQL knows how long one is without reading it. What is
// whole and what is exported is judged as a pass judges it.
const (
	sqlCountInSQL = `
SELECT s.item_key, s.section, s.live, s.digest, s.length, NOT s.live OR coalesce(s.size, k.size, 0) = s.length, e.export_sequence IS NOT NULL
  FROM (SELECT s.number, s.collection_id, s.item_key, s.section, s.live, s.digest, s.length, octet_length(s.content) AS size, s.export_sequence
          FROM sections_in_sql s
         WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND (s.item_key, s.section) > ($4, $5)
         ORDER BY s.item_key, s.section LIMIT $6) s
  LEFT JOIN LATERAL (SELECT sum(octet_length(k.content)) AS size FROM section_chunks k
                      WHERE k.tenant_id = $1 AND k.number = s.number AND k.collection_id = s.collection_id
                        AND k.item_key = s.item_key AND k.section = s.section AND s.live AND s.size IS NULL) k ON true` + pageExported
	sqlCountInStore = `
SELECT s.item_key, s.section, s.live, s.digest, s.length, true, e.export_sequence IS NOT NULL
  FROM (SELECT s.number, s.collection_id, s.item_key, s.section, s.live, s.digest, s.length, s.export_sequence
          FROM sections_in_store s
         WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND (s.item_key, s.section) > ($4, $5)
         ORDER BY s.item_key, s.section LIMIT $6) s` + pageExported
	pageExported = `
  LEFT JOIN LATERAL (SELECT e.export_sequence FROM export_entries e
                      WHERE e.tenant_id = $1 AND e.number = s.number AND e.collection_id = s.collection_id
                        AND e.section = s.section AND e.export_sequence = s.export_sequence AND e.item_key = s.item_key LIMIT 1) e ON true
 ORDER BY s.item_key, s.section`
)

// firstDefects is how many defects are named.
const firstDefects = 10

// tally is what has been counted of one collection.
type tally struct {
	count    CollectionCount
	sizes    *histogram
	defects  DefectCount
	digests  *digests
	sections map[string]*Count
	key      string // of the last section
	section  string
}

// count goes through a collection's sections where a kind of migration finds them,
// page by page, each in a transaction of its own.
func (s *Service) count(ctx context.Context, tenant domain.TenantID, kind Kind, c *record.Collection) (*tally, error) {
	t := &tally{
		count: CollectionCount{Name: c.Name, ID: c.ID, Format: c.Format},
		sizes: newHistogram(), digests: newDigests(maxDigests), sections: map[string]*Count{},
	}
	sql := sqlCountInSQL
	if kind == Rehydrate {
		sql = sqlCountInStore
	}
	number := record.NumberOf(c.Name)
	e := s.entry(tenant, number)
	e.ReadOnly = true
	for rows := countedRows; rows == countedRows; {
		err := tenancy.Run(ctx, s.router.Database(number), e, func(ctx context.Context, tx *tenancy.Tx) error {
			tx.Queue(sql, int16(number), c.ID, t.key, t.section, countedRows).Query(func(r pgx.Rows) (err error) {
				rows, err = t.page(r)
				return err
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	t.end()
	return t, nil
}

// page counts the rows of a page.
func (t *tally) page(rows pgx.Rows) (n int, err error) {
	var key, section string
	var live, whole, exported bool
	var digest []byte
	var length int64
	_, err = pgx.ForEachRow(rows, []any{&key, &section, &live, &digest, &length, &whole, &exported}, func() error {
		n++
		if key != t.key {
			t.count.Records++
		}
		t.key, t.section = key, section
		of := t.sections[section]
		if of == nil {
			of = &Count{}
			t.sections[section] = of
		}
		of.Records++
		switch {
		case !exported:
			t.defects.Export++
			t.defect(record.DefectExport)
		case !whole:
			t.defects.Length++
			t.defect(record.DefectLength)
		}
		if !live {
			of.Tombstones++
			return nil
		}
		of.Live++
		of.Bytes += length
		t.sizes.add(length)
		var known record.Digest
		copy(known[:], digest)
		t.digests.add(known, length)
		return nil
	})
	return n, err
}

func (t *tally) defect(reason string) {
	if len(t.defects.First) < firstDefects {
		t.defects.First = append(t.defects.First, FoundDefect{t.count.Name, t.key, t.section, reason})
	}
}

// end adds up what was counted, and lets go of the digests.
func (t *tally) end() {
	t.count.Sections = make([]SectionCount, 0, len(t.sections))
	for name, of := range t.sections {
		t.count.Sections = append(t.count.Sections, SectionCount{name, *of})
		t.count.Live += of.Live
		t.count.Tombstones += of.Tombstones
		t.count.Bytes += of.Bytes
	}
	slices.SortFunc(t.count.Sections, func(a, b SectionCount) int { return strings.Compare(a.Section, b.Section) })
	t.count.Distinct = t.digests.distinct(t.count.Live)
	t.digests, t.sections = nil, nil
}
