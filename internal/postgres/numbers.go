package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Gate is a number's row on a data database.
type Gate struct {
	Number       domain.Number
	State        string // "open", "closed", or "copy": closed, and another database's is the one that counts
	RecordFormat int16  // the lowest record format that a process must know
	LeaseRules   int16  // likewise, the lease rules
}

const sqlGates = `SELECT number, state, record_format, lease_rules FROM number_gates ORDER BY number`

// ReadGates are the gates that a data database has, by number, ascending.
func ReadGates(ctx context.Context, db *pgxpool.Pool) ([]Gate, error) {
	rows, _ := db.Query(ctx, sqlGates)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Gate])
}

// The first record format and lease rules: every process knows them.
const sqlOpenNumbers = `
INSERT INTO number_gates (number, state, record_format, lease_rules)
SELECT n, 'open', 1, 1 FROM unnest($1::smallint[]) n`

const sqlAnyTenant = `SELECT EXISTS (SELECT FROM tenants)`

// OpenNumbers opens each number on the database that the placement puts it on,
// when no database has it yet, and gives the numbers that it opened, by the
// database's name. It runs as the owner, and alone (LockSchema).
//
// It refuses, and opens nothing, when a number is open where the placement
// doesn't put it, or is known only elsewhere: moving a number is another
// procedure. And it refuses to open a number once there are tenants: every
// number was opened before the first of them was made, so the database that has
// it is missing from the configuration, and opening it anew would lose what is
// unique.
func OpenNumbers(ctx context.Context, router *Router) (map[string][]domain.Number, error) {
	gates, err := readAllGates(ctx, router)
	if err != nil {
		return nil, err
	}
	missing, faults := CompareNumbers(router.Databases(), gates)
	if len(faults) > 0 {
		return nil, errors.Join(append(faults, errors.New("moving a number takes more than another placement"))...)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	inUse, err := AnyTenant(ctx, router.Control())
	if err != nil {
		return nil, fmt.Errorf("control database: %w", err)
	}
	if inUse {
		return nil, errLostNumbers(missing)
	}
	// A crash between two databases leaves the rest of the numbers to the next
	// run: there can be no tenant before all are open.
	for _, db := range router.Databases() {
		if err := openNumbers(ctx, db.Pool, missing[db.Name]); err != nil {
			return nil, fmt.Errorf("data database %s: %w", db.Name, err)
		}
	}
	return missing, nil
}

// CompareNumbers compares the placement with the gates that each database has:
// the numbers that no database has, by the database that the placement puts them
// on, and a fault for those that another database has.
func CompareNumbers(databases []*Database, gates map[string][]Gate) (missing map[string][]domain.Number, faults []error) {
	missing = map[string][]domain.Number{}
	for _, home := range databases {
		open, closed := map[string][]domain.Number{}, map[string][]domain.Number{} // by the other database
		for _, n := range home.Numbers {
			atHome, openOn, closedOn := whereabouts(n, home.Name, gates)
			switch {
			case openOn != "":
				open[openOn] = append(open[openOn], n)
			case atHome:
			case closedOn != "":
				closed[closedOn] = append(closed[closedOn], n)
			default:
				missing[home.Name] = append(missing[home.Name], n)
			}
		}
		for _, other := range slices.Sorted(maps.Keys(open)) {
			faults = append(faults, fmt.Errorf("open on %s, and placed on %s: the numbers %s",
				other, home.Name, FormatNumbers(open[other])))
		}
		for _, other := range slices.Sorted(maps.Keys(closed)) {
			faults = append(faults, fmt.Errorf("closed on %s, and not yet on %s, where they are placed: the numbers %s",
				other, home.Name, FormatNumbers(closed[other])))
		}
	}
	return missing, faults
}

// whereabouts tells whether a number has a gate at home, and names a database
// elsewhere that has it open, and one that has it closed.
func whereabouts(n domain.Number, home string, gates map[string][]Gate) (atHome bool, openOn, closedOn string) {
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		for _, gate := range gates[name] {
			switch {
			case gate.Number != n:
			case name == home:
				atHome = true
			case gate.State == "open":
				openOn = name
			default:
				closedOn = name
			}
		}
	}
	return atHome, openOn, closedOn
}

// errLostNumbers says that there are tenants already, and numbers on no database.
func errLostNumbers(missing map[string][]domain.Number) error {
	var numbers []domain.Number
	for _, some := range missing {
		numbers = append(numbers, some...)
	}
	slices.Sort(numbers)
	return fmt.Errorf("there are tenants already, and no configured database has the numbers %s: "+
		"is one missing from HOLDFAST_DATA_URLS?", FormatNumbers(numbers))
}

// AnyTenant tells whether the control database knows a tenant, be it a purged one's
// tombstone.
func AnyTenant(ctx context.Context, control *pgxpool.Pool) (found bool, err error) {
	err = pgx.BeginFunc(ctx, control, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT enter_control($1)`, domain.TenantID{}); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlAnyTenant).Scan(&found)
	})
	return found, err
}

func openNumbers(ctx context.Context, db *pgxpool.Pool, numbers []domain.Number) error {
	if len(numbers) == 0 {
		return nil
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT enter_operator()`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlOpenNumbers, signed(numbers))
		return err
	})
}

// ParseNumbers reads numbers as a placement has them, "0-31,40", each once.
func ParseNumbers(text string) (numbers []domain.Number, err error) {
	for _, r := range strings.Split(text, ",") {
		first, last, err := parseRange(r)
		if err != nil {
			return nil, err
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, domain.Number(n))
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// FormatNumbers writes ascending numbers as a placement does: "0-31,40".
func FormatNumbers[N ~int | ~int64 | ~uint8](numbers []N) string {
	var runs []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i == j {
			runs = append(runs, fmt.Sprint(numbers[i]))
		} else {
			runs = append(runs, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(runs, ",")
}
