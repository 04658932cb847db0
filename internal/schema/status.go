package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// controlName is what the control database is called beside the data databases.
const controlName = "control"

// Status is how an installation's databases compare with this build and its
// configuration. Without problems they are as they should be.
type Status struct {
	Sets     []Set     `json:"sets"`
	Numbers  []Numbers `json:"numbers"` // of the data databases that have a schema
	Problems []string  `json:"problems"`
}

// Set is one set of migrations on one database, by version.
type Set struct {
	Database string  `json:"database"`
	Name     string  `json:"set"` // "control", "river", "data"
	Applied  []int64 `json:"applied"`
	Pending  []int64 `json:"pending"`
	Unknown  []int64 `json:"unknown"` // applied, by a newer build
}

// Numbers are those of one data database, ascending.
type Numbers struct {
	Database string `json:"database"`
	Placed   []int  `json:"placed"` // by the configuration
	Open     []int  `json:"open"`
	Closed   []int  `json:"closed"`
}

// ReadStatus reads everything and changes nothing. An error means that a
// database couldn't be asked.
func ReadStatus(ctx context.Context, router *postgres.Router) (Status, error) {
	status := Status{Sets: []Set{}, Numbers: []Numbers{}, Problems: []string{}}
	if err := status.readControl(ctx, router.Control()); err != nil {
		return Status{}, fmt.Errorf("control database: %w", err)
	}
	var wrong WrongControlError
	if err := checkControl(ctx, router); errors.As(err, &wrong) {
		status.Problems = []string{wrong.Error()} // Up, which would make the schema, refuses
	} else if err != nil {
		return Status{}, err
	}
	gates := map[string][]postgres.Gate{}
	for _, db := range router.Databases() {
		set, err := postgres.ReadSchemaStatus(ctx, db.Pool, postgres.DataSet)
		if err != nil {
			return Status{}, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		status.addSet(db.Name, string(postgres.DataSet), set)
		if len(set.Applied) == 0 {
			continue
		}
		if gates[db.Name], err = postgres.ReadGates(ctx, db.Pool); err != nil {
			return Status{}, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		status.addNumbers(db, gates[db.Name])
	}
	if len(gates) == len(router.Databases()) { // else any number may be on the others
		inUse := false
		if len(status.Sets[0].Applied) > 0 { // the control database has a schema
			var err error
			if inUse, err = postgres.AnyTenant(ctx, router.Control()); err != nil {
				return Status{}, fmt.Errorf("control database: %w", err)
			}
		}
		status.compareNumbers(router.Databases(), gates, inUse)
	}
	return status, nil
}

func (s *Status) readControl(ctx context.Context, control *pgxpool.Pool) error {
	set, err := postgres.ReadSchemaStatus(ctx, control, postgres.ControlSet)
	if err != nil {
		return err
	}
	s.addSet(controlName, string(postgres.ControlSet), set)
	river, err := riverschema.ReadStatus(ctx, control)
	if err != nil {
		return err
	}
	s.addSet(controlName, "river", river)
	return nil
}

func (s *Status) addSet(database, name string, set postgres.SchemaStatus) {
	s.Sets = append(s.Sets, Set{
		Database: database, Name: name,
		Applied: list(set.Applied), Pending: list(set.Pending), Unknown: list(set.Unknown),
	})
	if err := set.Check(); err != nil {
		s.Problems = append(s.Problems, fmt.Sprintf("%s, %s: %v", database, name, err))
	}
}

func (s *Status) addNumbers(db *postgres.Database, gates []postgres.Gate) {
	numbers := Numbers{Database: db.Name, Placed: []int{}, Open: []int{}, Closed: []int{}}
	var unserved []domain.Number
	for _, n := range db.Numbers {
		numbers.Placed = append(numbers.Placed, int(n))
	}
	for _, gate := range gates {
		if gate.State == "open" {
			numbers.Open = append(numbers.Open, int(gate.Number))
			continue
		}
		numbers.Closed = append(numbers.Closed, int(gate.Number))
		if slices.Contains(db.Numbers, gate.Number) {
			unserved = append(unserved, gate.Number)
		}
	}
	s.Numbers = append(s.Numbers, numbers)
	if len(unserved) > 0 {
		s.Problems = append(s.Problems, fmt.Sprintf("closed on %s, where they are placed, and not served: the numbers %s",
			db.Name, postgres.FormatNumbers(unserved)))
	}
}

// compareNumbers advises what Up would do: it opens no number once there are tenants.
func (s *Status) compareNumbers(databases []*postgres.Database, gates map[string][]postgres.Gate, inUse bool) {
	missing, faults := postgres.CompareNumbers(databases, gates)
	for _, fault := range faults {
		s.Problems = append(s.Problems, fault.Error())
	}
	var nowhere []domain.Number
	for _, numbers := range missing {
		nowhere = append(nowhere, numbers...)
	}
	if len(nowhere) > 0 {
		slices.Sort(nowhere)
		advice := "run holdfast schema up"
		if inUse {
			advice = "there are tenants already: is a database missing from HOLDFAST_DATA_URLS?"
		}
		s.Problems = append(s.Problems, fmt.Sprintf("open nowhere: the numbers %s: %s", postgres.FormatNumbers(nowhere), advice))
	}
}

// list is never nil, since a nil slice would become null.
func list(versions []int64) []int64 { return append([]int64{}, versions...) }
