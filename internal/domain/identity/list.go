package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// AccountFilter narrows a list. The zero value takes every account.
type AccountFilter struct {
	Status *Status
}

// Position is behind the last account of a page: its number and its id.
type Position struct {
	Number domain.Number
	ID     domain.AccountID
}

// AccountPage is a page of a list. Next is nil on the last one.
type AccountPage struct {
	Accounts []Account
	Next     *Position
}

// MaxPage bounds the accounts of a page.
const MaxPage = 200

// One row more than the page tells whether there is another.
const sqlListAccounts = `
SELECT ` + accountColumns + ` FROM accounts a
 WHERE a.tenant_id = $1 AND a.number BETWEEN $2 AND $3 AND (a.number, a.account_id) > ($2, $4)
   AND a.status <> 'deleted' AND ($5::text IS NULL OR a.status = $5)
 ORDER BY a.number, a.account_id
 LIMIT $6`

// List walks the accounts by number and id, from after on. Every account that
// exists throughout the walk is in exactly one page, whatever is written
// meanwhile: an account never changes its place. A page is filled across
// numbers; neighbouring numbers on one database are read together.
func (s *Service) List(ctx context.Context, scope tenancy.Scope, filter AccountFilter, after *Position, limit int) (AccountPage, error) {
	limit = min(max(limit, 1), MaxPage)
	var from Position
	if after != nil {
		from = *after
	}
	var page AccountPage
	for n := int(from.Number); n < domain.Numbers; {
		db, last := s.run(domain.Number(n))
		rows, err := s.listRun(ctx, db, scope.Tenant, filter, from, last, limit+1-len(page.Accounts))
		if err != nil {
			return AccountPage{}, err
		}
		page.Accounts = append(page.Accounts, rows...)
		if len(page.Accounts) > limit {
			page.Accounts = page.Accounts[:limit]
			final := page.Accounts[limit-1].ID
			page.Next = &Position{accountRef(final).Number, final}
			return page, nil
		}
		n = int(last) + 1
		from = Position{Number: domain.Number(n)}
	}
	return page, nil
}

// run is the longest run of numbers from first on that one database holds.
func (s *Service) run(first domain.Number) (*postgres.Database, domain.Number) {
	db := s.router.Database(first)
	last := first
	for int(last)+1 < domain.Numbers && s.router.Database(last+1) == db {
		last++
	}
	return db, last
}

func (s *Service) listRun(ctx context.Context, db *postgres.Database, tenant domain.TenantID, filter AccountFilter, from Position, last domain.Number, limit int) ([]Account, error) {
	numbers := make([]domain.Number, 0, domain.Numbers)
	for n := from.Number; n <= last; n++ {
		numbers = append(numbers, n)
	}
	var accounts []Account
	e := tenancy.Entry{Tenant: tenant, Numbers: numbers, Purpose: s.purpose, Layout: domain.Layout, ReadOnly: true}
	err := tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlListAccounts, int16(from.Number), int16(last), from.ID, filter.Status, limit).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				a, err := scanAccount(rows)
				if err != nil {
					return err
				}
				accounts = append(accounts, a.Account)
			}
			return rows.Err()
		})
		return nil
	})
	return accounts, err
}
