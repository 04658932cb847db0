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
// them again matches nothing. Nothing waits for the disk here: a claim that comes
// back with a crash of its database is its operation's again or, once that is
// cleared, unknown to its owner.
type releasing struct {
	owner ref
	link  link
}

const sqlRelease = `
DELETE FROM claims
 WHERE tenant_id = $1 AND number = $2 AND family = $3 AND key = $4
   AND owner_family = $5 AND owner_id = $6 AND token = $7`

// Rows are deleted in key order. One statement a row keeps each on its index:
// the plan of a join with unnest would read all claims of the tenant once it
// had been cached while there were few.
func (s *Service) releaseAll(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*releasing) error {
	slices.SortFunc(all, func(a, b *releasing) int { return compareLinks(a.link, b.link) })
	numbers := make([]int16, len(all))
	for i, r := range all {
		numbers[i] = int16(r.link.Number)
	}
	e := s.entry(tenant, numbers)
	e.Unsynced = true
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		for _, r := range all {
			tx.Queue(sqlRelease, int16(r.link.Number), r.link.Family, r.link.Key, r.owner.Family, r.owner.ID, r.link.Token)
		}
		return nil
	})
}
