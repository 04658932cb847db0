package record

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCheckExport looks for each entry's section by its key: a subquery with a LIMIT
// is never made a hash of all that there are.
const sqlCheckExport = `
SELECT e.section, e.export_sequence, e.item_key,
       (SELECT s.export_sequence FROM sections_in_sql s
         WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = e.item_key AND s.section = e.section LIMIT 1)
           IS NOT DISTINCT FROM e.export_sequence
    OR (SELECT s.export_sequence FROM sections_in_store s
         WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = e.item_key AND s.section = e.section LIMIT 1)
           IS NOT DISTINCT FROM e.export_sequence
  FROM export_entries e
 WHERE e.tenant_id = $1 AND e.number = $2 AND e.collection_id = $3 AND (e.section, e.export_sequence) > ($4, $5)
 ORDER BY e.section, e.export_sequence LIMIT $6`

// sqlCheckExportEnd reads where the export ends, and how far its collection has
// counted.
const sqlCheckExportEnd = `
SELECT c.export_sequence, coalesce((
       SELECT max(e.export_sequence) FROM unnest($3::text[]) AS n (section)
        CROSS JOIN LATERAL (SELECT e.export_sequence FROM export_entries e
                             WHERE e.tenant_id = $1 AND e.number = $2 AND e.collection_id = c.collection_id AND e.section = n.section
                             ORDER BY e.export_sequence DESC LIMIT 1) e), 0)
  FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $4`

// export looks for entries of what isn't there, and at the export's end. The section
// of the collection's last change stands at it: the next change of that section is
// the collection's last in its turn.
func (w *inspectedCollection) export(ctx context.Context) error {
	var section, key string
	var sequence int64
	var stands bool
	_, err := w.walk(ctx, checkPage, func(tx *tenancy.Tx) *pgx.QueuedQuery {
		return tx.Queue(sqlCheckExport, w.number, w.id, section, sequence, checkPage)
	}, func(row pgx.CollectableRow) ([]Violation, error) {
		if err := row.Scan(&section, &sequence, &key, &stands); err != nil || stands {
			return nil, err
		}
		return []Violation{w.violation.under(key).in(section).of(ExportStray, fmt.Sprintf(
			"The export says that this section was last changed at the sequence %d, and it wasn't, or isn't there. Remove the row of export_entries, "+
				"unless it is the section's row that is wrong.", sequence))}, nil
	})
	if err != nil {
		return err
	}
	return w.exportEnd(ctx)
}

func (w *inspectedCollection) exportEnd(ctx context.Context) error {
	var counted, last int64
	err := w.look(ctx, func(tx *tenancy.Tx) {
		tx.Queue(sqlCheckExportEnd, w.number, w.profile.Sections(), w.violation.Collection).QueryRow(func(row pgx.Row) error {
			return row.Scan(&counted, &last)
		})
	})
	if err != nil || last >= counted || domain.EndsAt(counted, last) { // it may have left an era that a restore took back
		return err
	}
	return w.tell(w.violation.of(ExportShort, fmt.Sprintf(
		"The collection has counted %d changes, and the last one in its export is %d: the last ones are lost, records and all, or the counter was set on. "+
			"Find out which, and restore what is lost from a backup.", counted, last)))
}
