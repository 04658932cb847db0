package schema

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Known is what a build knows of rules that data databases may demand of whoever
// serves them.
type Known struct {
	RecordFormat int16 // the highest
	LeaseRules   int16
}

// BelowFloor names what a build lacks to be run on these databases: none when it
// may take over from whatever runs there. What is pending is no reason against it,
// since it would be applied first. It reads and changes nothing; an error means that
// a database couldn't be asked.
//
// A floor only ever rises. A newer build's migrations raise it, and so do the first
// qualification and the first activation of storage format 2, which have the
// databases refuse whoever knows format 1 alone.
func BelowFloor(ctx context.Context, router *postgres.Router, known Known) ([]string, error) {
	lacks := []string{}
	note := func(database string, set postgres.SchemaStatus) {
		if len(set.Unknown) > 0 {
			lacks = append(lacks, fmt.Sprintf("%s: %v", database, set.Check()))
		}
	}
	control, err := postgres.ReadSchemaStatus(ctx, router.Control(), postgres.ControlSet)
	if err != nil {
		return nil, fmt.Errorf("control database: %w", err)
	}
	note(controlName, control)
	river, err := riverschema.ReadStatus(ctx, router.Control())
	if err != nil {
		return nil, fmt.Errorf("control database: %w", err)
	}
	note(controlName, river)
	for _, db := range router.Databases() {
		data, err := postgres.ReadSchemaStatus(ctx, db.Pool, postgres.DataSet)
		if err != nil {
			return nil, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		note(db.Name, data)
		if len(data.Applied) == 0 {
			continue // it demands nothing yet
		}
		gates, err := postgres.ReadGates(ctx, db.Pool)
		if err != nil {
			return nil, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		lacks = append(lacks, known.lacks(db.Name, gates)...)
	}
	return lacks, nil
}

// lacks compares with the most that any number's gate demands.
func (k Known) lacks(database string, gates []postgres.Gate) (lacks []string) {
	if len(gates) == 0 {
		return nil
	}
	format := slices.MaxFunc(gates, func(a, b postgres.Gate) int { return int(a.RecordFormat) - int(b.RecordFormat) }).RecordFormat
	if format > k.RecordFormat {
		lacks = append(lacks, fmt.Sprintf("%s: demands record format %d, and this build knows %d", database, format, k.RecordFormat))
	}
	rules := slices.MaxFunc(gates, func(a, b postgres.Gate) int { return int(a.LeaseRules) - int(b.LeaseRules) }).LeaseRules
	if rules > k.LeaseRules {
		lacks = append(lacks, fmt.Sprintf("%s: demands lease rules %d, and this build knows %d", database, rules, k.LeaseRules))
	}
	return lacks
}
