package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// resolving reads the claim that stands for a key. It proves nothing: whether
// the key resolves is said by the record that the claim leads to.
type resolving struct {
	link link // the key; the token is not looked at

	claim *claim // nil if there is none
}

// claim is a row: one key, one owner, one token.
type claim struct {
	link
	owner   ref
	expired bool // a device code past its time: anybody's to replace, whoever holds it
}

const sqlReadClaims = `
SELECT k.ordinal, c.owner_family, c.owner_id, c.token, c.expires_at IS NOT NULL AND c.expires_at <= clock_timestamp()
  FROM unnest($2::smallint[], $3::text[], $4::text[]) WITH ORDINALITY AS k (number, family, key, ordinal)
 CROSS JOIN LATERAL (SELECT c.* FROM claims c
                      WHERE c.tenant_id = $1 AND c.number = k.number AND c.family = k.family AND c.key = k.key LIMIT 1) c`

func (s *Service) resolveAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*resolving) error {
	numbers := make([]int16, len(all))
	for i, r := range all {
		numbers[i] = int16(r.link.Number)
	}
	e := s.entry(tenant, numbers)
	e.ReadOnly = true
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		queueResolving(tx, all)
		return nil
	})
}

func queueResolving(tx *tenancy.Tx, all []*resolving) {
	numbers, families, keys := make([]int16, len(all)), make([]string, len(all)), make([]string, len(all))
	for i, r := range all {
		r.claim = nil
		numbers[i], families[i], keys[i] = int16(r.link.Number), string(r.link.Family), r.link.Key
	}
	tx.Queue(sqlReadClaims, numbers, families, keys).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var ordinal int64
			var family domain.Family
			var id domain.RecordID
			var token domain.Token
			var expired bool
			if err := rows.Scan(&ordinal, &family, &id, &token, &expired); err != nil {
				return err
			}
			r := all[ordinal-1]
			r.claim = &claim{link{r.link.Family, r.link.Number, r.link.Key, token}, refTo(family, id), expired}
		}
		return rows.Err()
	})
}

// resolve reads the claim of a key, or nil.
func (s *Service) resolve(ctx context.Context, tenant domain.TenantID, key link) (*claim, error) {
	r := &resolving{link: key}
	if err := s.resolving.Do(ctx, s.router.Database(key.Number), tenant, r); err != nil {
		return nil, err // r may still be written to, for a caller that went away
	}
	return r.claim, nil
}
