package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlCheckStrays counts the rows of numbers that the database doesn't own.
const sqlCheckStrays = `
SELECT 'account', number, count(*) FROM accounts WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
UNION ALL
SELECT 'account', number, count(*) FROM email_changes WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
UNION ALL
SELECT 'account', number, count(*) FROM account_devices WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
UNION ALL
SELECT 'account', number, count(*) FROM code_guesses WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
UNION ALL
SELECT 'device', number, count(*) FROM devices WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
UNION ALL
SELECT family, number, count(*) FROM operations WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY family, number
UNION ALL
SELECT family, number, count(*) FROM claims WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY family, number
UNION ALL
SELECT 'event', number, count(*) FROM events WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
UNION ALL
SELECT 'event', number, count(*) FROM event_counters WHERE tenant_id = $1 AND (number = ANY ($2) OR number < 0 OR number > 63) GROUP BY number
ORDER BY 1, 2`

// strays looks for rows on a database that doesn't own their numbers: nobody
// reads them there.
func (i *inspection) strays(ctx context.Context, db *postgres.Database) error {
	foreign := []int16{}
	for n := range int16(domain.Numbers) {
		if !slices.Contains(db.Numbers, domain.Number(n)) {
			foreign = append(foreign, n)
		}
	}
	type stray struct {
		family domain.Family
		number int16
		rows   int64
	}
	var found []stray
	err := tenancy.Run(ctx, db, i.entry(numbersOf(db)), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlCheckStrays, foreign).Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s stray, err error) {
				err = row.Scan(&s.family, &s.number, &s.rows)
				return s, err
			})
			return err
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := i.tell(Violation{Kind: WrongDatabase, Database: db.Name, Family: s.family, Number: domain.Number(s.number),
			Detail: fmt.Sprintf("%d rows of number %d stand on a database that doesn't own it, where nobody reads them. "+
				"Compare them with the number's own database, and remove them here.", s.rows, s.number)}); err != nil {
			return err
		}
	}
	return nil
}
