package tenancy

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
)

// sqlInvolved follows, from the approver and from each who is involved, who made them
// and who made a key of theirs, and so on: whoever makes a key may keep it. The rows
// are the operators' alone, and few.
const sqlInvolved = `
WITH RECURSIVE involved AS (
    SELECT p.principal_id FROM principals p WHERE p.tenant_id = $1 AND p.name = ANY ($3)
), makers AS (
    SELECT p.principal_id, p.created_by FROM principals p WHERE p.tenant_id = $1 AND p.created_by IS NOT NULL
    UNION
    SELECT k.principal_id, k.created_by FROM api_keys k WHERE k.tenant_id = $1 AND k.created_by IS NOT NULL
), behind (principal_id, maker) AS (
    SELECT i.principal_id, i.principal_id FROM (SELECT principal_id FROM involved UNION SELECT $2::uuid) i
    UNION
    SELECT b.principal_id, m.created_by FROM behind b JOIN makers m ON m.principal_id = b.maker
)
SELECT EXISTS (
    SELECT FROM behind b JOIN involved i
        ON b.principal_id = $2 AND b.maker = i.principal_id OR b.principal_id = i.principal_id AND b.maker = $2)`

// Involved tells whether an operator who is to approve something is one of those who
// are involved in it, by their names, and not another person for sure. Names tell
// people apart, since one may have several keys. And neither is anybody another person
// whom one of them made, whose key one of them made, or who made one of them: by a
// made-up second, one hand would do what takes two. Two whom the same third made count
// as two.
func (s *Store) Involved(ctx context.Context, approver Scope, names ...string) (involved bool, err error) {
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		involved, err = involvedTx(ctx, tx, approver, names...)
		return err
	})
	return involved, err
}

// involvedTx is Involved in a transaction of the operators'.
func involvedTx(ctx context.Context, tx pgx.Tx, approver Scope, names ...string) (involved bool, err error) {
	if slices.Contains(names, approver.Name) {
		return true, nil
	}
	err = tx.QueryRow(ctx, sqlInvolved, Operators, approver.Principal, names).Scan(&involved)
	return involved, err
}
