package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// publication is what a database publishes for a move. Its comment says it in the
// words of String.
type publication struct {
	numbers []domain.Number
	to      string // the data database
}

func (p publication) String() string {
	return fmt.Sprintf("numbers %s to %s", postgres.FormatNumbers(p.numbers), p.to)
}

// holds tells whether it is of any of the numbers.
func (p publication) holds(numbers []domain.Number) bool {
	return slices.ContainsFunc(p.numbers, func(n domain.Number) bool { return slices.Contains(numbers, n) })
}

const sqlPublication = `SELECT coalesce(obj_description(oid, 'pg_publication'), '') FROM pg_publication WHERE pubname = $1`

// readPublication reads what a database publishes, if anything.
func readPublication(ctx context.Context, db *postgres.Database) (p publication, found bool, err error) {
	var text string
	err = db.Pool.QueryRow(ctx, sqlPublication, moveName).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return publication{}, false, nil
	}
	if err != nil {
		return publication{}, false, on(db, err)
	}
	numbers, to, well := strings.Cut(strings.TrimPrefix(text, "numbers "), " to ")
	if p.numbers, err = postgres.ParseNumbers(numbers); err != nil || !well {
		return publication{}, false, refuse("%s has a publication %s whose comment, %q, doesn't say of what: drop it", db.Name, moveName, text)
	}
	p.to = to
	return p, true, nil
}

// refuseAnother refuses a source that publishes the numbers of another move: making
// the publication anew would end what is copied there without a word.
func (m Move) refuseAnother(ctx context.Context) error {
	p, found, err := readPublication(ctx, m.From)
	if err != nil || !found || p.String() == m.publication().String() {
		return err
	}
	numbers := postgres.FormatNumbers(p.numbers)
	return refuse("a move from %s is under way: it publishes the numbers %s to %s: finish it, or call it off, "+
		"and run holdfast fleet clean %s --on %s, or --on %s if it was called off", m.From.Name, numbers, p.to, numbers, m.From.Name, p.to)
}

func (m Move) publication() publication { return publication{m.Numbers, m.To.Name} }

// publish makes the publication anew, with the rows of the numbers. The filters
// hold for changes and deletions too, since the number is in each primary key.
func (m Move) publish(ctx context.Context) error {
	tables, err := movingTables(ctx, m.From)
	if err != nil {
		return err
	}
	list := make([]string, len(m.Numbers))
	for i, n := range m.Numbers {
		list[i] = fmt.Sprint(n)
	}
	filtered := make([]string, len(tables))
	for i, table := range tables {
		filtered[i] = fmt.Sprintf("%s WHERE (number IN (%s))", table, strings.Join(list, ", "))
	}
	err = pgx.BeginFunc(ctx, m.From.Pool, func(tx pgx.Tx) error {
		var comment string
		if err := tx.QueryRow(ctx, `SELECT quote_literal($1::text)`, m.publication().String()).Scan(&comment); err != nil {
			return err
		}
		_, dropErr := tx.Exec(ctx, "DROP PUBLICATION IF EXISTS "+moveName)
		_, makeErr := tx.Exec(ctx, "CREATE PUBLICATION "+moveName+" FOR TABLE "+strings.Join(filtered, ", "))
		_, sayErr := tx.Exec(ctx, "COMMENT ON PUBLICATION "+moveName+" IS "+comment)
		return errors.Join(dropErr, makeErr, sayErr)
	})
	return on(m.From, err)
}

// unpublish drops what is published of numbers that are cleaned on a database: on
// itself, behind a move from it, and on others, behind a move to it that was called
// off. What another move publishes stays.
func unpublish(ctx context.Context, router *postgres.Router, cleaned *postgres.Database, numbers []domain.Number) error {
	for _, db := range router.Databases() {
		p, found, err := readPublication(ctx, db)
		if err != nil {
			return err
		}
		if !found || !p.holds(numbers) || db != cleaned && p.to != cleaned.Name {
			continue
		}
		if _, err := db.Pool.Exec(ctx, "DROP PUBLICATION IF EXISTS "+moveName); err != nil {
			return on(db, err)
		}
	}
	return nil
}
