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

// claiming is step 2 for one key: grant it if it is absent.
//
// A crash behind it leaves a claim that its owner's operation lists. Whoever
// finishes that operation releases it; a claim that arrives later still, when
// the operation is gone, is unknown to its owner and anybody's to remove.
type claiming struct {
	owner ref
	link  link
	until *time.Time // when a device code expires; nil for the keys that don't

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

const sqlClaimUntil = `
INSERT INTO claims AS c (tenant_id, number, family, key, owner_family, owner_id, token, rules, expires_at)
SELECT $1, k.number, k.family, k.key, k.owner_family, k.owner_id, k.token, $2, k.expires_at
  FROM unnest($3::smallint[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::timestamptz[])
       AS k (number, family, key, owner_family, owner_id, token, expires_at)
ON CONFLICT DO NOTHING
RETURNING c.number, c.family, c.key, c.token`

// claimAll waits for the disk: what a commit rests on must outlive a crash of the
// database, even of the commit's own, since this process may live on through it
// and commit.
func (s *Service) claimAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*claiming) error {
	slices.SortFunc(all, func(a, b *claiming) int { return compareLinks(a.link, b.link) })
	var lasting, passing linkColumns
	var until []time.Time // of the passing ones
	byLink := make(map[link]*claiming, len(all))
	for _, c := range all {
		c.granted = false
		byLink[c.link] = c
		if c.until == nil {
			lasting.add(c.owner, c.link)
			continue
		}
		passing.add(c.owner, c.link)
		until = append(until, *c.until)
	}
	granted := func(l link) { byLink[l].granted = true }
	numbers := slices.Concat(lasting.numbers, passing.numbers)
	return tenancy.Run(ctx, db, s.entry(tenant, numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		if len(lasting.keys) > 0 {
			lasting.queueClaims(tx, granted)
		}
		if rows := &passing; len(rows.keys) > 0 {
			tx.Queue(sqlClaimUntil, KeyRules, rows.numbers, rows.families, rows.keys, rows.ownerFamilies, rows.owners, rows.tokens, until).
				Query(tellLinks(granted))
		}
		return nil
	})
}

// queueClaims claims keys that don't expire, which come in key order, and tells
// each that was granted.
func (c *linkColumns) queueClaims(tx *tenancy.Tx, granted func(link)) {
	tx.Queue(sqlClaim, KeyRules, c.numbers, c.families, c.keys, c.ownerFamilies, c.owners, c.tokens).Query(tellLinks(granted))
}

func tellLinks(granted func(link)) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		var l link
		_, err := pgx.ForEachRow(r, []any{&l.Number, &l.Family, &l.Key, &l.Token}, func() error {
			granted(l)
			return nil
		})
		return err
	}
}
