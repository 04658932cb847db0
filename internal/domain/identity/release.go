package identity

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// releasing is step 4 for one key: delete the claim, if it is still exactly
// this one. A late release can't delete a later owner's claim, nor the same
// owner's later claim of the same key: tokens differ.
//
// A crash behind it leaves an operation whose claims are partly gone; releasing
// them again matches nothing.
type releasing struct {
	owner ref
	link  link
}

const sqlLockClaims = `
SELECT FROM unnest($2::smallint[], $3::text[], $4::text[]) AS k (number, family, key)
 CROSS JOIN LATERAL (SELECT FROM claims c
                      WHERE c.tenant_id = $1 AND c.number = k.number AND c.family = k.family AND c.key = k.key
                        FOR UPDATE) c`

const sqlRelease = `
DELETE FROM claims c
 USING unnest($2::smallint[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::uuid[])
       AS k (number, family, key, owner_family, owner_id, token)
 WHERE c.tenant_id = $1 AND c.number = k.number AND c.family = k.family AND c.key = k.key
   AND c.owner_family = k.owner_family AND c.owner_id = k.owner_id AND c.token = k.token`

func releaseAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*releasing) error {
	slices.SortFunc(all, func(a, b *releasing) int { return compareLinks(a.link, b.link) })
	var rows linkColumns
	for _, r := range all {
		rows.add(r.owner, r.link)
	}
	return tenancy.Run(ctx, db, entry(tenant, rows.numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlLockClaims, rows.numbers, rows.families, rows.keys)
		tx.Queue(sqlRelease, rows.numbers, rows.families, rows.keys, rows.ownerFamilies, rows.owners, rows.tokens)
		return nil
	})
}
