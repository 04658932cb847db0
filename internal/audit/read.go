package audit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Filter says which entries are wanted. Its zero value wants all.
type Filter struct {
	Tenant    domain.TenantID // that they concern
	Operator  string          // who acted, by name
	Operation string
	From      time.Time // not before
	To        time.Time // before
}

// MaxPage is how many entries a page has at most.
const MaxPage = 1000

const entryColumns = `sequence, entry, hash`

// sqlEntries: a filter that isn't wanted is NULL, or the zero id.
const sqlEntries = `
SELECT ` + entryColumns + ` FROM audit_log
 WHERE sequence > $1
   AND ($2::uuid IS NULL OR tenant_id = $2)
   AND ($3::text IS NULL OR operator = $3)
   AND ($4::text IS NULL OR operation = $4)
   AND ($5::timestamptz IS NULL OR at >= $5)
   AND ($6::timestamptz IS NULL OR at < $6)
 ORDER BY sequence LIMIT $7`

// Entries gives the entries behind a number, in their order, at most limit (1 to
// MaxPage); more tells that others follow. It is for operators: who calls has checked
// that.
//
// Errors: unavailable.
func (l *Log) Entries(ctx context.Context, filter Filter, after int64, limit int) (entries []Chained, more bool, err error) {
	return l.entries(ctx, operators, filter, after, limit)
}

// EntriesOf likewise gives those that concern one tenant, to itself. The database
// shows no others in it, whatever the filter says.
func (l *Log) EntriesOf(ctx context.Context, tenant domain.TenantID, filter Filter, after int64, limit int) (entries []Chained, more bool, err error) {
	filter.Tenant = tenant
	return l.entries(ctx, tenant, filter, after, limit)
}

func (l *Log) entries(ctx context.Context, reader domain.TenantID, filter Filter, after int64, limit int) (entries []Chained, more bool, err error) {
	limit = min(max(limit, 1), MaxPage)
	err = l.control.ControlRead(ctx, reader, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlEntries, after, orNull(filter.Tenant), orNull(filter.Operator), orNull(filter.Operation),
			orNull(filter.From), orNull(filter.To), limit+1)
		entries, err = pgx.CollectRows(rows, scanChained)
		return err
	})
	if more = len(entries) > limit; more {
		entries = entries[:limit]
	}
	return entries, more, err
}

func scanChained(row pgx.CollectableRow) (c Chained, err error) {
	var hash []byte
	err = row.Scan(&c.Sequence, &c.Text, &hash)
	copy(c.Hash[:], hash)
	return c, err
}

// orNull is a value as an argument, NULL for the zero one.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
