package record

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// collectionTables are those that have rows of collections, as the schema has them.
func (k *keeper) collectionTables(t testing.TB) []string {
	t.Helper()
	rows, _ := k.admin[k.router.Databases()[0].Name].Query(t.Context(), `
SELECT c.table_name::text FROM information_schema.columns c
 WHERE c.table_schema = 'public' AND c.column_name = 'collection_id' AND c.table_name <> 'collections' ORDER BY c.table_name`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// A table that is added has to be added to the check.
func TestCheck_LooksIntoEveryTableOfCollectionsRows(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	tables := k.collectionTables(t)
	for _, table := range tables {
		if !strings.Contains(sqlCheckPlaces, " FROM "+table+" t\n") {
			t.Errorf("nobody looks into %s for rows of collections that aren't there", table)
		}
	}
	if got := strings.Count(sqlCheckPlaces, " t\n"); got != len(tables) || got < 10 {
		t.Errorf("the check looks into %d tables, and there are %v", got, tables)
	}
}

// strange gives the database of a collection's number, another number of it, and a
// number of another database.
func (k *keeper) strange(t testing.TB, collection string) (db *postgres.Database, neighbour, elsewhere domain.Number) {
	t.Helper()
	number := numberOf(collection)
	db = k.router.Database(number)
	neighbour = db.Numbers[(slices.Index(db.Numbers, number)+1)%len(db.Numbers)]
	for n := range domain.Number(domain.Numbers) {
		if k.router.Database(n) != db {
			return db, neighbour, n
		}
	}
	t.Fatal("there is one database only")
	return nil, 0, 0
}

func TestCheck_FindsRowsOfEveryTableInNumbersThatArentTheirCollections(t *testing.T) {
	t.Parallel()
	for _, table := range newKeeper(t, FormatSQL).collectionTables(t) {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			format := FormatSQL
			if table == "sections_in_store" {
				format = FormatStore
			}
			k := newKeeper(t, format)
			c := k.lived(t, "orders")
			if _, err := k.RequestSnapshot(t.Context(), k.scope, c, "once"); err != nil {
				t.Fatal(err)
			}
			k.everywhere(t, `INSERT INTO snapshot_parts SELECT s.tenant_id, s.number, s.collection_id, s.snapshot_id, 1, sha256(''), 1, 1 FROM snapshots s`)
			k.everywhere(t, `INSERT INTO object_counts SELECT c.tenant_id, c.number, c.collection_id, 0, 0, now() FROM collections c`)
			k.everywhere(t, `INSERT INTO migration_checkpoints SELECT c.tenant_id, c.number, c.collection_id, c.collection, c.token, 'rehydrate', sha256(''), 'b', c.token, false, 1,
				0, 0, '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), now(), NULL, NULL FROM collections c`)
			k.everywhere(t, `INSERT INTO migration_deferred SELECT c.tenant_id, c.number, c.collection_id, 'x', 'items', 'object_missing', 1, false, now(), now() FROM collections c`)
			made, err := k.Collection(t.Context(), k.scope, c)
			if err != nil {
				t.Fatal(err)
			}
			db, neighbour, elsewhere := k.strange(t, c)
			moved := numberOf(c)
			for _, at := range []struct {
				number domain.Number
				first  string
			}{
				{neighbour, "wrong_bucket orders"},
				{elsewhere, "wrong_database " + made.ID.String()},
			} {
				if _, err := k.admin[db.Name].Exec(t.Context(), `UPDATE `+table+` SET number = $1 WHERE number = $2`, at.number, moved); err != nil {
					t.Fatal(err)
				}
				moved = at.number
				if _, found := k.inspect(t, Checking{Bodies: true}); len(found) == 0 || found[0] != at.first {
					t.Errorf("found %q, want %s first", found, at.first)
				}
			}
			if table != "records" { // whose absence would be told many times
				return
			}
			var first Violation
			stop := fmt.Errorf("enough")
			_, err = k.Check(t.Context(), k.scope.Tenant, Checking{Found: func(v Violation) error { first = v; return stop }})
			if err != stop || first.Kind != WrongDatabase || first.Number != elsewhere || first.Database != db.Name {
				t.Errorf("told to stop, the check ended with %v behind %+v", err, first)
			}
		})
	}
}

func TestCheck_FindsCollectionsWhereTheyMustNotBe(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.lived(t, "orders")
	made, err := k.Collection(t.Context(), k.scope, c)
	if err != nil {
		t.Fatal(err)
	}
	db, neighbour, elsewhere := k.strange(t, c)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := k.admin[db.Name].Exec(context.Background(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE collections SET number = $1`, neighbour)
	k.finds(t, "wrong_bucket orders", "wrong_bucket orders") // its rows, and itself
	exec(`UPDATE collections SET number = $1`, elsewhere)
	k.finds(t, "wrong_bucket orders", "wrong_bucket orders")
	exec(`DELETE FROM collections`)
	k.finds(t, "collection_missing "+made.ID.String())

	_, err = k.Check(t.Context(), k.scope.Tenant, Checking{Collection: c, Found: func(Violation) error { return nil }})
	expectCode(t, err, domain.KindNotFound, "collection_not_found")
}

// A whole number on a database that doesn't own it, as a move that was broken off
// leaves it.
func TestCheck_FindsACollectionOnADatabaseThatDoesntOwnItsNumber(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	db, _, elsewhere := k.strange(t, c)
	other := k.router.Database(elsewhere)
	_, err := k.admin[other.Name].Exec(t.Context(), `
INSERT INTO collections VALUES ($1, $2, $3, $4, 1, NULL, $5, 0, 0, 0, $4, now())`,
		k.scope.Tenant, numberOf(c), c, domain.RandomID[domain.CollectionKind](), DefaultProfile().text())
	if err != nil {
		t.Fatal(err)
	}
	k.finds(t, "wrong_database orders")
	if _, found := k.inspect(t, Checking{Collection: c}); len(found) > 0 {
		t.Errorf("on %s there is %q", db.Name, found)
	}
}
