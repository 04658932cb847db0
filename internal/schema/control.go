package schema

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// WrongControlError says that data databases have a schema and the control database
// has none. Up makes the control database's first, so theirs came with another one,
// which knows the tenants. An empty one would take whoever comes first for its
// operator.
type WrongControlError struct{ Databases []string } // those that have a schema

func (e WrongControlError) Error() string {
	return fmt.Sprintf("the control database has no schema, and %s have one already, of an installation that has another control database: "+
		"is HOLDFAST_CONTROL_URL right?", strings.Join(e.Databases, ", "))
}

// checkControl refuses a control database that isn't that of the data databases, with
// a WrongControlError. It changes nothing.
func checkControl(ctx context.Context, router *postgres.Router) error {
	control, err := postgres.ReadSchemaStatus(ctx, router.Control(), postgres.ControlSet)
	if err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	if len(control.Applied) > 0 {
		return nil
	}
	var others []string
	for _, db := range router.Databases() {
		data, err := postgres.ReadSchemaStatus(ctx, db.Pool, postgres.DataSet)
		if err != nil {
			return fmt.Errorf("data database %s: %w", db.Name, err)
		}
		if len(data.Applied) > 0 {
			others = append(others, db.Name)
		}
	}
	if len(others) > 0 {
		return WrongControlError{others}
	}
	return nil
}
