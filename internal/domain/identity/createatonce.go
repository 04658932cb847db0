package identity

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A creation whose record and keys all stand on one database makes its three
// decisions in one transaction: nobody sees a claim of it before its record, and
// a crash leaves both or neither. If anything stands in its way it leaves nothing,
// and the steps one by one find out what that is and whether it may be cleared.

// together gives the database where an account and all its keys stand, or nil if
// they stand on several.
func (s *Service) together(account *accountRow) *postgres.Database {
	db := s.router.Database(accountRef(account.ID).Number)
	for _, l := range account.links() {
		if s.router.Database(l.Number) != db {
			return nil
		}
	}
	return db
}

// granted is what a creation has got within the transaction.
type granted struct {
	links    []link
	prepared bool
	found    *reading // of a repeatable creation's record; else nil
}

// all tells whether nothing stands in the creation's way.
func (g *granted) all(op *operation) bool {
	return len(g.links) == len(op.newLinks) && (g.found == nil || g.prepared && !g.found.exists())
}

// sqlGiveBack deletes a claim of this transaction's own, as sqlRelease does one that
// others may have seen.
const sqlGiveBack = `
DELETE FROM claims AS c
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.family = $3 AND c.key = $4
   AND c.owner_family = $5 AND c.owner_id = $6 AND c.token = $7`

func (s *Service) createAtOnce(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*creating) error {
	slices.SortFunc(all, func(a, b *creating) int { return compareRefs(a.op.record, b.op.record) })
	var numbers []int16
	for _, c := range all {
		c.committed = false
		numbers = append(numbers, int16(c.op.record.Number))
		for _, l := range c.op.newLinks {
			numbers = append(numbers, int16(l.Number))
		}
	}
	var chosen []*creating
	err := tenancy.Run(ctx, db, s.entry(tenant, numbers), func(ctx context.Context, tx *tenancy.Tx) error {
		got, now, err := grant(ctx, tx, s.deadline, all)
		if err != nil {
			return err
		}
		for _, c := range all {
			g := got[c.op.token]
			if g.prepared {
				c.op.queueClearPrepared(tx)
			}
			if g.all(c.op) {
				chosen = append(chosen, c)
				continue
			}
			slices.SortFunc(g.links, compareLinks)
			for _, l := range g.links {
				tx.Queue(sqlGiveBack, int16(l.Number), l.Family, l.Key, c.op.record.Family, c.op.record.ID, l.Token)
			}
		}
		if len(chosen) > 0 {
			queueCreated(tx, chosen, now)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range chosen {
		c.committed = true
	}
	return nil
}

// grant prepares and claims within the transaction, and reads the clock behind
// that. Only a repeatable creation's operation is written: its row is what another
// request with the same key waits at. The others' ids are known to nobody.
func grant(ctx context.Context, tx *tenancy.Tx, term time.Duration, all []*creating) (map[domain.Token]*granted, time.Time, error) {
	got := make(map[domain.Token]*granted, len(all))
	var operations preparationColumns
	var existing []*reading
	var claims []releasing
	for _, c := range all {
		g := &granted{}
		got[c.op.token] = g
		if c.op.fingerprint != nil {
			operations.add(c.op)
			g.found = &reading{record: c.op.record}
			existing = append(existing, g.found)
		}
		for _, l := range c.op.newLinks {
			claims = append(claims, releasing{c.op.record, l})
		}
	}
	slices.SortFunc(claims, func(a, b releasing) int { return compareLinks(a.link, b.link) })
	var columns linkColumns
	for _, c := range claims {
		columns.add(c.owner, c.link)
	}
	if len(existing) > 0 {
		operations.queue(tx, term, func(token domain.Token, _ time.Time) { got[token].prepared = true })
		// Behind the insert, as when the steps are apart: see mayExist.
		queueRecords(tx, existing)
	}
	columns.queueClaims(tx, func(l link) { got[l.Token].links = append(got[l.Token].links, l) })
	var now time.Time
	tx.QueueNow(&now)
	err := tx.Send(ctx)
	return got, now, err
}
