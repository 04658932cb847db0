package identity

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// unknownClaims removes the claims that their owners don't know, by exact token,
// where the key or the owner was put back.
func (c *reconciliation) unknownClaims(ctx context.Context, r *inspectedRun) error {
	scan := func(row pgx.CollectableRow) (k checkedClaim, err error) {
		var family, ownerFamily domain.Family
		var key string
		var owner domain.RecordID
		var token domain.Token
		err = row.Scan(&k.stands, &family, &key, &ownerFamily, &owner, &token)
		k.claim = claim{link: linkTo(family, key, token), owner: refTo(ownerFamily, owner)}
		return k, err
	}
	return walk(ctx, r, sqlCheckClaims, []any{"", ""}, scan, func(ctx context.Context, page []checkedClaim, _ time.Time) error {
		page = slices.DeleteFunc(page, func(k checkedClaim) bool {
			return k.stands != k.Number || !c.touches(k.owner, k.link) // a misplaced one is the check's to tell
		})
		owners := map[ref]*reading{}
		var readings []*reading
		for _, k := range page {
			if owners[k.owner] == nil {
				owners[k.owner] = &reading{record: k.owner}
				readings = append(readings, owners[k.owner])
			}
		}
		if err := c.read(ctx, readings); err != nil {
			return err
		}
		for _, k := range page {
			if k.judge(owners[k.owner]) != obsolete {
				continue
			}
			if err := c.s.release(ctx, c.Tenant, k.owner, []link{k.link}); err != nil {
				return err
			}
			c.done.ClaimsRemoved++
		}
		return nil
	})
}

// dueKey is a key that a record has, and when its claim ends by itself.
type dueKey struct {
	ownedKey
	until *time.Time
}

func (c *reconciliation) keysOfAccounts(ctx context.Context, r *inspectedRun) error {
	scan := func(row pgx.CollectableRow) (a checkedAccount, err error) {
		a.accountRow, err = scanAccount(row, &a.number, &a.changing, &a.events.count, &a.events.first, &a.events.last)
		return a, err
	}
	return walk(ctx, r, sqlCheckAccounts, []any{domain.AccountID{}}, scan, func(ctx context.Context, page []checkedAccount, now time.Time) error {
		var held []dueKey
		for _, a := range page {
			record := accountRef(a.ID)
			for _, l := range a.links() {
				if a.number == record.Number && c.touches(record, l) && a.holds(l, now) {
					held = append(held, dueKey{ownedKey{record, l}, nil})
				}
			}
		}
		return c.claimed(ctx, held)
	})
}

func (c *reconciliation) keysOfDevices(ctx context.Context, r *inspectedRun) error {
	return walk(ctx, r, sqlCheckDevices, []any{domain.DeviceID{}}, scanCheckedDevice, func(ctx context.Context, page []checkedDevice, now time.Time) error {
		var held []dueKey
		for _, d := range page {
			record := deviceRef(d.ID)
			for _, l := range d.links() {
				if d.number == record.Number && c.touches(record, l) && d.holds(l, now) {
					held = append(held, dueKey{ownedKey{record, l}, d.ExpiresAt})
				}
			}
		}
		return c.claimed(ctx, held)
	})
}

func scanCheckedDevice(row pgx.CollectableRow) (d checkedDevice, err error) {
	d.deviceRow, err = scanDevice(row, &d.number, &d.events.count, &d.events.first, &d.events.last)
	return d, err
}

// claimTries bounds how often a key is looked at whose claim changes meanwhile.
const claimTries = 3

// claimed sees to it that each key is claimed by its record.
func (c *reconciliation) claimed(ctx context.Context, held []dueKey) error {
	for range claimTries {
		lacking, err := c.lacking(ctx, held)
		if err != nil || len(lacking) == 0 {
			return err
		}
		claims := make([]*claiming, len(lacking))
		for i, k := range lacking {
			claims[i] = &claiming{owner: k.owner, link: k.link, until: k.until}
		}
		if err := c.claim(ctx, claims); err != nil {
			return err
		}
		held = nil
		for i, k := range lacking {
			if claims[i].granted {
				c.done.ClaimsMade++
			} else {
				held = append(held, k) // somebody was faster: look again
			}
		}
	}
	return nil // whoever is at it so busily has a claim of its own, and another look says whose
}

// lacking gives the keys for which no claim stands, having cleared away those that
// stand in the way and mean nothing. Of a key that another record has too it tells.
func (c *reconciliation) lacking(ctx context.Context, held []dueKey) (lacking []dueKey, err error) {
	resolvings := make([]*resolving, len(held))
	for i, k := range held {
		resolvings[i] = &resolving{link: k.link}
	}
	if err := c.resolve(ctx, resolvings); err != nil {
		return nil, err
	}
	for i, k := range held {
		standing := resolvings[i].claim
		switch {
		case standing == nil:
			lacking = append(lacking, k)
		case standing.link == k.link && standing.owner == k.owner:
		default:
			free, err := c.contested(ctx, k, standing)
			if err != nil {
				return nil, err
			}
			if free {
				lacking = append(lacking, k)
			}
		}
	}
	return lacking, nil
}

// contested looks into a claim that stands where a record has the key, and tells
// whether the key is free behind it.
func (c *reconciliation) contested(ctx context.Context, k dueKey, standing *claim) (free bool, err error) {
	owner := &reading{record: standing.owner}
	if err := c.read(ctx, []*reading{owner}); err != nil {
		return false, err
	}
	switch standing.judge(owner) {
	case obsolete:
		if err := c.s.release(ctx, c.Tenant, standing.owner, []link{standing.link}); err != nil {
			return false, err
		}
		c.done.ClaimsRemoved++
		return true, nil
	case helpable:
		return true, c.s.help(ctx, c.Tenant, owner.operation)
	case undecided:
		return false, nil // it is of a record that serves, and its own recovery decides it
	}
	return c.double(ctx, k, standing, owner)
}

// claim grants keys, side by side on their databases.
func (c *reconciliation) claim(ctx context.Context, claims []*claiming) error {
	return onDatabases(claims, func(k *claiming) *postgres.Database { return c.s.router.Database(k.link.Number) },
		func(db *postgres.Database, some []*claiming) error { return c.s.claimAll(ctx, db, c.Tenant, some) })
}
