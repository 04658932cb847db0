package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Contents are what a database has of a number in one table.
type Contents struct {
	Rows   int64  `json:"rows"`
	Digest string `json:"digest"` // of the rows, in any order; "" of none
}

// Difference is a table that isn't the same on both databases.
type Difference struct {
	Table  string        `json:"table"`
	Number domain.Number `json:"number"`
	From   Contents      `json:"from"`
	To     Contents      `json:"to"`
}

// Comparison is what came of comparing both databases of a move.
type Comparison struct {
	Tables      int          `json:"tables"`
	Rows        int64        `json:"rows"` // on the source
	Differences []Difference `json:"differences"`
}

// Compare compares, by table and number, what both databases have: how many rows,
// and a digest of all that is in them. It reads every row of the numbers once on
// each. The numbers must be open on neither, else there is nothing to compare.
func Compare(ctx context.Context, m Move) (Comparison, error) {
	for _, db := range []*postgres.Database{m.From, m.To} {
		if err := demandStates(ctx, db, m.Numbers, "closed", "copy"); err != nil {
			return Comparison{}, err
		}
	}
	tables, err := movingTables(ctx, m.From)
	if err != nil {
		return Comparison{}, err
	}
	result := Comparison{Tables: len(tables), Differences: []Difference{}}
	for _, table := range tables {
		var from, to map[domain.Number]Contents
		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() (err error) { from, err = contents(ctx, m.From, table, m.Numbers); return err })
		both.Go(func() (err error) { to, err = contents(ctx, m.To, table, m.Numbers); return err })
		if err := both.Wait(); err != nil {
			return Comparison{}, fmt.Errorf("compare %s: %w", table, err)
		}
		for _, c := range from {
			result.Rows += c.Rows
		}
		result.Differences = append(result.Differences, differences(table, from, to)...)
	}
	return result, nil
}

func differences(table string, from, to map[domain.Number]Contents) (all []Difference) {
	either := maps.Clone(from)
	maps.Copy(either, to)
	for _, n := range slices.Sorted(maps.Keys(either)) {
		if from[n] != to[n] {
			all = append(all, Difference{table, n, from[n], to[n]})
		}
	}
	return all
}

// sqlSameText has both servers write values alike.
const sqlSameText = `
SELECT set_config('datestyle', 'ISO', true), set_config('timezone', 'UTC', true), set_config('intervalstyle', 'postgres', true),
       set_config('bytea_output', 'hex', true), set_config('extra_float_digits', '3', true)`

// sumContents adds up two hashes of each row: sums know no order, so nothing is
// sorted.
const sumContents = `
SELECT number, count(*), sum(hashtextextended(t::text, 0)::numeric)::text || ' ' || sum(hashtextextended(t::text, 1)::numeric)::text
  FROM %s t WHERE number = ANY ($1) GROUP BY number`

func contents(ctx context.Context, db *postgres.Database, table string, numbers []domain.Number) (map[domain.Number]Contents, error) {
	found := map[domain.Number]Contents{}
	err := asOperator(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlSameText); err != nil {
			return err
		}
		var n domain.Number
		var c Contents
		rows, _ := tx.Query(ctx, fmt.Sprintf(sumContents, table), smallints(numbers))
		_, err := pgx.ForEachRow(rows, []any{&n, &c.Rows, &c.Digest}, func() error { found[n] = c; return nil })
		return err
	})
	return found, err
}
