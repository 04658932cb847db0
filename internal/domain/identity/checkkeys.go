package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// ownedKey is a key that a record has, under the token of the claim that must
// back it.
type ownedKey struct {
	owner ref
	link  link
}

// keys holds the records of a page to their claims: each key that a record has is
// claimed by it under its token, so that a lookup by the key leads to it.
func (r *inspectedRun) keys(ctx context.Context, held []ownedKey) error {
	resolvings := make([]*resolving, len(held))
	for at, k := range held {
		resolvings[at] = &resolving{link: k.link}
	}
	if err := r.resolve(ctx, resolvings); err != nil {
		return err
	}
	var doubtful []ownedKey
	var claims []*claim
	var again []*reading
	for at, k := range held {
		if c := resolvings[at].claim; c == nil || c.link != k.link || c.owner != k.owner {
			doubtful, claims = append(doubtful, k), append(claims, c)
			again = append(again, &reading{record: k.owner})
		}
	}
	// A record that has the key still, under that token, had it when the claim was
	// read: a token that has left its record never returns.
	if err := r.read(ctx, again); err != nil {
		return err
	}
	for at, k := range doubtful {
		owner := again[at]
		owner.now = owner.now.Add(clockMargin)
		if !owner.holds(k.link) {
			continue
		}
		if err := r.tell(unclaimed(k, claims[at], r.s.router.Database(k.link.Number))); err != nil {
			return err
		}
	}
	return nil
}

func unclaimed(k ownedKey, c *claim, db *postgres.Database) Violation {
	wrong := "No claim stands for it: anybody may take it, and a lookup doesn't find the record."
	if c != nil && c.owner == k.owner {
		wrong = "The claim that stands for it is its owner's under another token: a lookup doesn't find the record, and whoever meets the claim removes it."
	} else if c != nil {
		wrong = "It is claimed by the " + string(c.owner.Family) + " " + c.owner.ID.String() + ": two records have one key, or the claim is left over."
	}
	return Violation{Kind: KeyUnclaimed, Database: db.Name, Family: k.link.Family, Number: k.link.Number, Record: k.owner.ID,
		Detail: "The " + string(k.owner.Family) + " has a key here that isn't claimed by it under its token. " + wrong +
			" Suspend the tenant, find out which record the key is due to, and restore its claim."}
}

const sqlCheckLinked = `
SELECT p.ordinal
  FROM unnest($2::smallint[], $3::uuid[], $4::uuid[]) WITH ORDINALITY AS p (number, account_id, device_id, ordinal)
 CROSS JOIN LATERAL (SELECT a.account_id FROM accounts a
                      WHERE a.tenant_id = $1 AND a.number = p.number AND a.account_id = p.account_id AND a.status <> 'deleted' LIMIT 1) a
  LEFT JOIN LATERAL (SELECT l.device_id FROM account_devices l
                      WHERE l.tenant_id = $1 AND l.number = p.number AND l.account_id = p.account_id AND l.device_id = p.device_id LIMIT 1) l ON true
 WHERE l.device_id IS NULL`

// approval is an approved device and whether its account lacks a link to it.
type approval struct {
	device   *deviceRow
	unlinked bool
}

func (a *approval) account() ref { return accountRef(a.device.Account) }

// linked holds the approved devices of a page to their links: each stands in its
// account's bucket, unless the account has been deleted, whose devices get
// nothing any more.
func (r *inspectedRun) linked(ctx context.Context, approved []*approval) error {
	home := func(a *approval) *postgres.Database { return r.s.router.Database(a.account().Number) }
	err := onDatabases(approved, home, func(db *postgres.Database, some []*approval) error { return r.findLinks(ctx, db, some) })
	if err != nil {
		return err
	}
	var unlinked []*approval
	var again []*reading
	for _, a := range approved {
		if a.unlinked {
			unlinked, again = append(unlinked, a), append(again, &reading{record: deviceRef(a.device.ID)})
		}
	}
	if err := r.read(ctx, again); err != nil {
		return err
	}
	for at, a := range unlinked {
		// A device has one account for life, so one that is approved still was so
		// when its link was looked for.
		if now := again[at].device; now == nil || now.Status != DeviceApproved {
			continue
		}
		if err := r.tell(Violation{Kind: LinkMissing, Database: home(a).Name, Family: domain.FamilyAccount, Number: a.account().Number, Record: domain.RecordID(a.device.ID),
			Detail: "The device is approved for the account " + a.account().ID.String() + ", which has no link to it: it isn't among the account's devices, " +
				"and would outlive the account. Revoke the device, or restore the link."}); err != nil {
			return err
		}
	}
	return nil
}

func (r *inspectedRun) findLinks(ctx context.Context, db *postgres.Database, some []*approval) error {
	var numbers []int16
	var accounts, devices [][16]byte
	for _, a := range some {
		numbers = append(numbers, int16(a.account().Number))
		accounts, devices = append(accounts, a.device.Account), append(devices, a.device.ID)
	}
	return tenancy.Run(ctx, db, r.entry(numbers), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlCheckLinked, numbers, accounts, devices).Query(func(rows pgx.Rows) error {
			var ordinal int64
			_, err := pgx.ForEachRow(rows, []any{&ordinal}, func() error {
				some[ordinal-1].unlinked = true
				return nil
			})
			return err
		})
		return nil
	})
}
