package migration

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// maxDeferred is how many deferred sections are listed. The progress tells how many
// there are.
const maxDeferred = 1000

// The deferred sections of a collection m, in their order, as far as they still have
// a row in the format that the migration leaves: one that was moved or published
// anew since has none. The LIMITs have each looked up by its key.
const (
	stillInSQL    = stillDeferred + `sections_in_sql` + stillStanding
	stillInStore  = stillDeferred + `sections_in_store` + stillStanding
	stillDeferred = `
       SELECT d.item_key, d.section, d.reason, d.attempts, d.retry, d.first_at, d.last_at
         FROM migration_deferred d
        CROSS JOIN LATERAL (SELECT FROM `
	stillStanding = ` s
                             WHERE s.tenant_id = $1 AND s.number = m.number AND s.collection_id = m.collection_id
                               AND s.item_key = d.item_key AND s.section = d.section LIMIT 1) s
        WHERE d.tenant_id = $1 AND d.number = m.number AND d.collection_id = m.collection_id
        ORDER BY d.item_key, d.section LIMIT $4`
)

const (
	sqlDeferredInSQL   = deferredOf + stillInSQL + deferredInOrder
	sqlDeferredInStore = deferredOf + stillInStore + deferredInOrder
	deferredOf         = `
SELECT m.collection, d.*
  FROM migration_checkpoints m
 CROSS JOIN LATERAL (`
	deferredInOrder = `) d
 WHERE m.tenant_id = $1 AND m.number = ANY ($2) AND m.migration_id = $3
 ORDER BY m.collection, d.item_key, d.section LIMIT $4`
)

// DeferredOf lists the sections that a migration couldn't move, by collection, key
// and section: the first maxDeferred of them.
//
// Errors: not found migration_not_found; unavailable.
func (s *Service) DeferredOf(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]Deferred, error) {
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	sql := sqlDeferredInSQL
	if m.Kind == Rehydrate {
		sql = sqlDeferredInStore
	}
	pages := make([][]Deferred, len(s.router.Databases()))
	err = s.everywhere(ctx, s.view(tenant), func(i int, db *postgres.Database, tx *tenancy.Tx) {
		tx.Queue(sql, numbersOf(db), id, maxDeferred).Query(func(rows pgx.Rows) (err error) {
			pages[i], err = pgx.CollectRows(rows, scanDeferred)
			return err
		})
	})
	all := slices.SortedFunc(slices.Values(slices.Concat(pages...)), func(a, b Deferred) int {
		return cmp.Or(strings.Compare(a.Collection, b.Collection), strings.Compare(a.Key, b.Key), strings.Compare(a.Section, b.Section))
	})
	return all[:min(len(all), maxDeferred)], err
}

func scanDeferred(row pgx.CollectableRow) (d Deferred, err error) {
	err = row.Scan(&d.Collection, &d.Key, &d.Section, &d.Reason, &d.Attempts, &d.Retry, &d.FirstAt, &d.LastAt)
	d.FirstAt, d.LastAt = d.FirstAt.UTC(), d.LastAt.UTC()
	d.ID = deferredID(d.Collection, d.Key, d.Section)
	d.NextStep = defectSteps[d.Reason]
	return d, err
}

// defectSteps are what is safe to do about a deferred section, by the reason for
// which it is.
var defectSteps = map[string]string{
	record.DefectLength:  "Parts of the content are missing. Publish the section anew, or restore its rows from a backup and ask for a retry.",
	record.DefectDigest:  "The content isn't the one that was published. Publish the section anew, or restore its rows from a backup and ask for a retry.",
	record.DefectExport:  "The export doesn't have the section. Publish it anew, which exports it too.",
	record.DefectMissing: "The body's object is missing. Restore it to the bucket and ask for a retry, or publish the section anew.",
	record.DefectCorrupt: "Another object stands where the body belongs. Find out who wrote it, restore the body and ask for a retry, or publish the section anew.",
}

// A deferred section's id is the base64url of its collection, key and section, with
// a NUL, which none of them can have, between each two.
const between = "\x00"

func deferredID(collection, key, section string) DeferredID {
	return DeferredID(base64.RawURLEncoding.EncodeToString([]byte(collection + between + key + between + section)))
}

// parse is the inverse. Only what deferredID makes parses.
func (id DeferredID) parse() (collection, key, section string, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(string(id))
	parts := strings.Split(string(text), between)
	if err != nil || len(parts) != 3 || !utf8.Valid(text) || deferredID(parts[0], parts[1], parts[2]) != id {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}
