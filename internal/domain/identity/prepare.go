package identity

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// preparing is step 1 for a creation: persist the operation, unless the record
// or another operation of it is there already.
//
// A crash behind it leaves an operation without claims, which anybody may abort
// after its deadline.
type preparing struct {
	op *operation

	granted bool
	found   *reading // if not granted: the record, or another operation of it
}

// The record is looked for in the same statement, so that a repeated creation
// seldom prepares in vain. Should it appear just then, the commit's own guard
// (its insert) refuses the operation.
const sqlPrepare = `
INSERT INTO operations AS o (tenant_id, number, family, record_id, token, state, deadline,
                             base_revision, proposal, new_links, old_links, fingerprint, traceparent)
SELECT $1, p.number, p.family, p.record_id, p.token, 'prepared', clock_timestamp() + $2::interval,
       0, p.proposal::json, p.new_links::json, '[]', p.fingerprint, p.traceparent
  FROM unnest($3::smallint[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::bytea[], $10::text[])
       AS p (number, family, record_id, token, proposal, new_links, fingerprint, traceparent)
  LEFT JOIN LATERAL (SELECT true AS found FROM accounts a
                      WHERE a.tenant_id = $1 AND a.number = p.number AND a.account_id = p.record_id LIMIT 1) a ON true
 WHERE a.found IS NULL
ON CONFLICT DO NOTHING
RETURNING o.token, o.deadline`

func (s *Service) prepareAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*preparing) error {
	slices.SortFunc(all, func(a, b *preparing) int { return compareRefs(a.op.record, b.op.record) })
	byToken := make(map[domain.Token]*preparing, len(all))
	var rows struct {
		numbers                 []int16
		families                []string
		records                 []domain.RecordID
		tokens                  []domain.Token
		proposals, links, trace []string
		fingerprints            [][]byte
	}
	for _, p := range all {
		p.granted, p.found = false, nil
		byToken[p.op.token] = p
		links, err := json.Marshal(p.op.newLinks)
		if err != nil {
			return err
		}
		rows.numbers = append(rows.numbers, int16(p.op.record.Number))
		rows.families = append(rows.families, string(p.op.record.Family))
		rows.records = append(rows.records, p.op.record.ID)
		rows.tokens = append(rows.tokens, p.op.token)
		rows.proposals = append(rows.proposals, string(p.op.proposal))
		rows.links = append(rows.links, string(links))
		rows.fingerprints = append(rows.fingerprints, p.op.fingerprint)
		rows.trace = append(rows.trace, p.op.traceparent)
	}
	err := tenancy.Run(ctx, db, entry(tenant, rows.numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlPrepare, s.deadline, rows.numbers, rows.families, rows.records, rows.tokens,
			rows.proposals, rows.links, rows.fingerprints, rows.trace,
		).Query(func(r pgx.Rows) error {
			var token domain.Token
			var deadline time.Time
			_, err := pgx.ForEachRow(r, []any{&token, &deadline}, func() error {
				p := byToken[token]
				p.granted, p.op.deadline = true, deadline
				return nil
			})
			return err
		})
		return nil
	})
	if err != nil {
		return err
	}
	return s.explainRefusals(ctx, db, tenant, all)
}

// explainRefusals reads what stood in the way of the operations that were not
// prepared. It is a transaction of its own: rare, and it decides nothing.
func (s *Service) explainRefusals(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*preparing) error {
	var found []*reading
	for _, p := range all {
		if !p.granted {
			p.found = &reading{record: p.op.record}
			found = append(found, p.found)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return readAll(ctx, db, tenant, found)
}

// entry is a transaction of the identity domain in the numbers named, which may
// repeat.
func entry(tenant domain.TenantID, numbers []int16) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Numbers: distinct(numbers), Purpose: tenancy.Serve, Layout: domain.Layout}
}

func distinct(numbers []int16) []domain.Number {
	var seen [domain.Numbers]bool
	out := make([]domain.Number, 0, min(len(numbers), domain.Numbers))
	for _, n := range numbers {
		if !seen[n] {
			seen[n] = true
			out = append(out, domain.Number(n))
		}
	}
	return out
}
