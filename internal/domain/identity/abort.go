package identity

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// aborting turns a prepared operation to aborted, which its commit can't pass.
// Only then may its claims be released, so it waits for the disk: an operation
// that came back prepared could commit without them. The caller aborts its own
// operation at any time, anybody else an overdue one.
//
// A crash behind it leaves an aborted operation, which anybody may finish.
type aborting struct {
	op *operation

	state operationState // what it is now: aborted, or committed, or "" once it is gone
}

const sqlAbort = `
UPDATE operations SET state = 'aborted'
 WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4 AND token = $5 AND state = 'prepared'`

func (s *Service) abortAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*aborting) error {
	ops := make([]*operation, len(all))
	for i, a := range all {
		ops[i] = a.op
	}
	before, err := s.changeOperations(ctx, db, s.entry(tenant, numbersOfAll(ops)), sqlAbort, ops)
	if err != nil {
		return err
	}
	for _, a := range all {
		a.state = before[a.op.token]
		if a.state == prepared {
			a.state = aborted
		}
	}
	return nil
}

// finalizing is step 5: clear an operation whose claims have been released. One
// that comes back with a crash of its database is cleared again.
type finalizing struct{ op *operation }

const sqlFinalize = `
DELETE FROM operations
 WHERE tenant_id = $1 AND number = $2 AND family = $3 AND record_id = $4 AND token = $5 AND state <> 'prepared'`

func (s *Service) finalizeAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*finalizing) error {
	ops := make([]*operation, len(all))
	for i, f := range all {
		ops[i] = f.op
	}
	return s.clearOperations(ctx, db, tenant, sqlFinalize, ops)
}

// clearOperations deletes operations that nobody needs any more.
func (s *Service) clearOperations(ctx context.Context, db *postgres.Database, tenant domain.TenantID, sql string, ops []*operation) error {
	e := s.entry(tenant, numbersOfAll(ops))
	e.Unsynced = true
	_, err := s.changeOperations(ctx, db, e, sql, ops)
	return err
}

func numbersOfAll(ops []*operation) []int16 {
	numbers := make([]int16, len(ops))
	for i, op := range ops {
		numbers[i] = int16(op.record.Number)
	}
	return numbers
}

// changeOperations runs a statement on each operation, by exact token, having
// locked them in key order, and returns the states that they had. An
// operation that is gone is in no state: somebody was faster.
func (s *Service) changeOperations(ctx context.Context, db *postgres.Database, e tenancy.Entry, sql string, ops []*operation) (map[domain.Token]operationState, error) {
	slices.SortFunc(ops, func(a, b *operation) int { return compareRefs(a.record, b.record) })
	var rows operationColumns
	for _, op := range ops {
		rows.add(op)
	}
	before := make(map[domain.Token]operationState, len(ops))
	err := tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		queueLockOperations(tx, &rows, func(o *operation) { before[o.token] = o.state })
		for _, op := range ops {
			tx.Queue(sql, int16(op.record.Number), op.record.Family, op.record.ID, op.token)
		}
		return nil
	})
	return before, err
}
