package identity

import (
	"context"
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
// after its deadline. The database may also lose it in a crash of its own, since
// nothing waits for the disk here. That is found out: the commit looks for the
// operation again, and without it is refused, and its claims are unknown to
// their owner.
type preparing struct {
	op *operation

	granted bool
	found   *reading // if not granted: the record, or another operation of it
}

const sqlPrepare = `
INSERT INTO operations AS o (tenant_id, number, family, record_id, token, state, deadline,
                             base_revision, proposal, new_links, old_links, fingerprint, traceparent)
SELECT $1, p.number, p.family, p.record_id, p.token, 'prepared', clock_timestamp() + $2::interval,
       0, p.proposal::json, p.new_links::json, '[]', p.fingerprint, p.traceparent
  FROM unnest($3::smallint[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::bytea[], $10::text[])
       AS p (number, family, record_id, token, proposal, new_links, fingerprint, traceparent)
ON CONFLICT DO NOTHING
RETURNING o.token, o.deadline`

// preparationColumns are the operations of creations as columns, for unnest.
type preparationColumns struct {
	operationColumns
	proposals, links, traceparents []string
	fingerprints                   [][]byte
}

func (c *preparationColumns) add(o *operation) {
	c.operationColumns.add(o)
	c.proposals = append(c.proposals, string(o.proposal))
	c.links = append(c.links, linksJSON(o.newLinks))
	c.fingerprints = append(c.fingerprints, o.fingerprint)
	c.traceparents = append(c.traceparents, o.traceparent)
}

// queue persists the operations, and tells token and deadline of each that was.
func (c *preparationColumns) queue(tx *tenancy.Tx, term time.Duration, granted func(domain.Token, time.Time)) {
	tx.Queue(sqlPrepare, term, c.numbers, c.families, c.records, c.tokens, c.proposals, c.links, c.fingerprints, c.traceparents).
		Query(func(r pgx.Rows) error {
			var token domain.Token
			var deadline time.Time
			_, err := pgx.ForEachRow(r, []any{&token, &deadline}, func() error {
				granted(token, deadline)
				return nil
			})
			return err
		})
}

func (s *Service) prepareAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*preparing) error {
	slices.SortFunc(all, func(a, b *preparing) int { return compareRefs(a.op.record, b.op.record) })
	byToken := make(map[domain.Token]*preparing, len(all))
	var rows preparationColumns
	for _, p := range all {
		p.granted, p.found = false, nil
		byToken[p.op.token] = p
		rows.add(p.op)
	}
	again := mayExist(all)
	e := s.entry(tenant, rows.numbers)
	e.Unsynced = true
	err := tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		rows.queue(tx, s.deadline, func(token domain.Token, deadline time.Time) {
			p := byToken[token]
			p.granted, p.op.deadline = true, deadline
		})
		if len(again) > 0 {
			queueRecords(tx, again)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.takeBack(ctx, db, tenant, all)
}

// mayExist are readings of the records whose id may have been used before: those
// of repeatable requests. They are read behind the insert, by a statement of its
// own: while an operation stands no other can make its record, so one that isn't
// there then won't be.
func mayExist(all []*preparing) (again []*reading) {
	for _, p := range all {
		if p.op.fingerprint != nil {
			p.found = &reading{record: p.op.record}
			again = append(again, p.found)
		}
	}
	return again
}

// takeBack clears the operations that were prepared in vain, because their
// record exists, and reads what stood in the way of those that were not. (A
// crash before that leaves the former to be aborted after their deadline.)
func (s *Service) takeBack(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*preparing) error {
	var vain []*operation
	var asked []*reading
	for _, p := range all {
		switch {
		case !p.granted:
			p.found = &reading{record: p.op.record}
			asked = append(asked, p.found)
		case p.found != nil && p.found.exists():
			p.granted = false
			vain = append(vain, p.op)
		}
	}
	if len(vain) > 0 {
		if err := s.reach(ctx, "prepared in vain"); err != nil {
			return err
		}
		if err := s.clearOperations(ctx, db, tenant, sqlClearPrepared, vain); err != nil {
			return err
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return s.readAll(ctx, db, tenant, asked)
}

// entry is a transaction of the identity domain in the numbers named, which may
// repeat.
func (s *Service) entry(tenant domain.TenantID, numbers []int16) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Numbers: distinct(numbers), Purpose: s.purpose, Layout: domain.Layout}
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
