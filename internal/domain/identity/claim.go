package identity

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// claiming is step 2 for one key: grant it if it is absent.
//
// A crash behind it leaves a claim that its owner's operation lists. Whoever
// finishes that operation releases it; a claim that arrives later still, when
// the operation is gone, is unknown to its owner and anybody's to remove.
type claiming struct {
	owner ref
	link  link

	granted bool
}

// Rows come in key order, so that two transactions that want the same keys
// wait for each other in one direction only.
const sqlClaim = `
INSERT INTO claims AS c (tenant_id, number, family, key, owner_family, owner_id, token, rules)
SELECT $1, k.number, k.family, k.key, k.owner_family, k.owner_id, k.token, $2
  FROM unnest($3::smallint[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[])
       AS k (number, family, key, owner_family, owner_id, token)
ON CONFLICT DO NOTHING
RETURNING c.number, c.family, c.key, c.token`

// claimFar makes claims durable before they are called granted: the commit that
// rests on them happens on another database, which may not lose them.
func claimFar(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*claiming) error {
	return claimAll(ctx, db, tenant, all, false)
}

// claimNear makes claims on the database of their owner. The commit that rests
// on them happens there too, later, and makes both durable at once: what is
// committed behind them is never kept without them.
func claimNear(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*claiming) error {
	return claimAll(ctx, db, tenant, all, true)
}

func claimAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*claiming, unsynced bool) error {
	slices.SortFunc(all, func(a, b *claiming) int { return compareLinks(a.link, b.link) })
	var rows linkColumns
	byLink := make(map[link]*claiming, len(all))
	for _, c := range all {
		c.granted = false
		rows.add(c.owner, c.link)
		byLink[c.link] = c
	}
	e := entry(tenant, rows.numbers)
	e.Unsynced = unsynced
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlClaim, KeyRules, rows.numbers, rows.families, rows.keys, rows.ownerFamilies, rows.owners, rows.tokens).
			Query(func(r pgx.Rows) error {
				var l link
				_, err := pgx.ForEachRow(r, []any{&l.Number, &l.Family, &l.Key, &l.Token}, func() error {
					byLink[l].granted = true
					return nil
				})
				return err
			})
		return nil
	})
}
