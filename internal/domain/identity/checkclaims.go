package identity

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// checkedClaim is a claim's row.
type checkedClaim struct {
	claim
	stands domain.Number
}

func (c checkedClaim) place() []any { return []any{int16(c.stands), c.Family, c.Key} }

const sqlCheckClaims = `
SELECT c.number, c.family, c.key, c.owner_family, c.owner_id, c.token FROM claims c
 WHERE c.tenant_id = $1 AND c.number BETWEEN $4 AND $2 AND (c.number, c.family, c.key) > ($4, $5, $6)
 ORDER BY c.number, c.family, c.key
 LIMIT $3`

func (r *inspectedRun) claims(ctx context.Context) error {
	scan := func(row pgx.CollectableRow) (c checkedClaim, err error) {
		var family, ownerFamily domain.Family
		var key string
		var owner domain.RecordID
		var token domain.Token
		err = row.Scan(&c.stands, &family, &key, &ownerFamily, &owner, &token)
		c.claim = claim{link: linkTo(family, key, token), owner: refTo(ownerFamily, owner)}
		return c, err
	}
	return walk(ctx, r, sqlCheckClaims, []any{"", ""}, scan, func(ctx context.Context, page []checkedClaim, _ time.Time) error {
		var sound []*claim
		for _, c := range page {
			switch {
			case c.stands != c.Number:
				if err := r.misplaced(c.Family, c.stands, c.Key, c.owner.ID); err != nil {
					return err
				}
			case c.owner.Family != ownersOf(c.Family):
				if err := r.tell(Violation{Kind: WrongOwner, Database: r.db.Name, Family: c.Family, Number: c.stands, Record: c.owner.ID,
					Detail: "A claim of the family " + string(c.Family) + " belongs to a record of the family " + string(c.owner.Family) +
						", which can't have such a key: nobody else can take it. Remove the claim."}); err != nil {
					return err
				}
			default:
				sound = append(sound, &c.claim)
			}
		}
		return r.residue(ctx, sound)
	})
}

// ownersOf is the family of the records that have keys of a lookup family.
func ownersOf(family domain.Family) domain.Family {
	switch family {
	case domain.FamilyHandle, domain.FamilyEmail:
		return domain.FamilyAccount
	case domain.FamilyDeviceCode:
		return domain.FamilyDevice
	default:
		return ""
	}
}

// residue counts the claims that their owners don't know: neither the record has
// the key under the claim's token, nor its operation lists it. That is no
// violation: crashes leave such claims, no lookup shows one, and whoever meets
// one removes it.
func (r *inspectedRun) residue(ctx context.Context, claims []*claim) error {
	owners := map[ref]*reading{}
	var readings []*reading
	for _, c := range claims {
		if owners[c.owner] == nil {
			owners[c.owner] = &reading{record: c.owner}
			readings = append(readings, owners[c.owner])
		}
	}
	if err := r.read(ctx, readings); err != nil {
		return err
	}
	var again []*resolving
	var unknown []*claim
	for _, c := range claims {
		if owner := owners[c.owner]; !owner.holds(c.link) && (owner.operation == nil || !owner.operation.lists(c.link)) {
			again, unknown = append(again, &resolving{link: c.link}), append(unknown, c)
		}
	}
	// One that has been released since was known when it was read.
	if err := r.resolve(ctx, again); err != nil {
		return err
	}
	left := int64(0)
	for at, c := range unknown {
		if standing := again[at].claim; standing != nil && standing.link == c.link && standing.owner == c.owner {
			left++
		}
	}
	r.count(func(t *tally) { t.residue += left })
	return nil
}
