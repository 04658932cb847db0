package record

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Collections are read wherever they stand, by whatever name. Two of one id in one
// number would share all rows.
const (
	sqlCheckCollections = `
SELECT ` + checkedCollection + `
 WHERE c.tenant_id = $1 AND (c.number, c.collection) > ($2, $3)
 ORDER BY c.tenant_id, c.number, c.collection LIMIT $4`

	sqlCheckCollection = `
SELECT ` + checkedCollection + `
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3`

	checkedCollection = `c.number, c.collection, c.collection_id, coalesce(c.world_id, ''), c.profile,
       (SELECT true FROM collections o
         WHERE o.number::integer = c.number::integer AND o.tenant_id = $1 AND o.collection_id = c.collection_id
           AND o.collection < c.collection LIMIT 1) IS NOT NULL
  FROM collections c`
)

// checkedRow is a collection's row as a check reads it: any may be wrong.
type checkedRow struct {
	number  int16
	name    string
	id      domain.CollectionID
	world   string
	profile string
	twice   bool // another collection has its id
}

func scanChecked(row pgx.CollectableRow) (c checkedRow, err error) {
	err = row.Scan(&c.number, &c.name, &c.id, &c.world, &c.profile, &c.twice)
	return c, err
}

// collections looks at every collection of a database.
func (i *inspection) collections(ctx context.Context, db *postgres.Database) error {
	last := checkedRow{number: -1}
	for {
		page, err := i.collectionRows(ctx, db, db.Numbers, sqlCheckCollections, last.number, last.name, checkPage)
		if err != nil {
			return err
		}
		for _, last = range page {
			if err := i.judge(ctx, db, last); err != nil {
				return err
			}
		}
		if len(page) < checkPage {
			return nil
		}
	}
}

// collection reads the row of one.
func (i *inspection) collection(ctx context.Context, db *postgres.Database, of ref) (checkedRow, error) {
	found, err := i.collectionRows(ctx, db, []domain.Number{of.number}, sqlCheckCollection, int16(of.number), of.name)
	if err != nil {
		return checkedRow{}, err
	}
	if len(found) == 0 {
		return checkedRow{}, errNoCollection
	}
	return found[0], nil
}

func (i *inspection) collectionRows(ctx context.Context, db *postgres.Database, numbers []domain.Number, sql string, args ...any) (page []checkedRow, err error) {
	err = i.read(ctx, db, numbers, func(tx *tenancy.Tx) {
		tx.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
			page, err = pgx.CollectRows(rows, scanChecked)
			return err
		})
	})
	return page, err
}

// inspectedCollection is a collection that a check goes through. Its id and its
// profile never change.
type inspectedCollection struct {
	*inspection
	db        *postgres.Database
	number    int16
	id        domain.CollectionID
	profile   Profile
	violation Violation // what all of its violations have in common
}

// judge looks at a collection, and then at everything in it.
func (i *inspection) judge(ctx context.Context, db *postgres.Database, row checkedRow) error {
	i.count(Census{Collections: 1})
	v := Violation{Database: db.Name, Number: domain.Number(row.number), Collection: row.name}
	switch {
	case numberOf(row.name) != v.Number:
		return i.tell(v.of(WrongBucket, "The collection stands in a number that its name doesn't have, where nobody looks for it. "+
			"Nothing of Holdfast writes it there: find out what did, and remove it and its rows."))
	case !slices.Contains(db.Numbers, v.Number):
		return i.tell(v.of(WrongDatabase, "The collection stands on a database that doesn't own its number, where nobody reads it. "+
			"Compare it with the number's own database, and remove it and its rows here."))
	}
	profile, wrong := row.wrong()
	if wrong != "" {
		return i.tell(v.of(CollectionWrong, wrong+" Nothing of Holdfast changes that once a collection is made: restore it from a backup."))
	}
	w := &inspectedCollection{i, db, row.number, row.id, profile, v}
	for _, look := range []func(context.Context) error{w.records, w.export, w.fences, w.batches, w.batchItems, w.claims, w.receipts} {
		if err := look(ctx); err != nil {
			return err
		}
	}
	return nil
}

// wrong is what a collection's row says that none may say; "" for nothing.
func (c *checkedRow) wrong() (Profile, string) {
	profile, err := parseProfile(c.profile)
	if err != nil {
		return Profile{}, "The collection's profile can't be read."
	}
	canonical, err := profile.checked()
	switch {
	case !collectionName.MatchString(c.name):
		return Profile{}, "The collection has a name that none may have, so no call finds it."
	case err != nil:
		return Profile{}, "The collection has a profile that none may have."
	case canonical.text() != c.profile:
		return Profile{}, "The collection's profile isn't in its one form."
	case c.world != "" && c.world != worldOf(c.name):
		return Profile{}, "The collection is bound to a world that isn't the one of its name."
	case c.twice:
		return Profile{}, "Another collection has the same id, and so all of its rows."
	}
	return profile, ""
}
