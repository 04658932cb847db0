package migration

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Runtime is what a process works with, by what doesn't change while it lives: the
// part of a packet that names a place and a program.
type Runtime struct {
	Build     string     `json:"build"`
	Databases []Database `json:"databases"` // in the order of the configuration
	Store     StorePlace `json:"store"`     // zero without an object store
}

// sqlIdentity: the system identifier is drawn when a cluster is made, and every
// copy of it has the same, so that a standby that takes over is the same database.
// A restored dump is another.
const sqlIdentity = `
SELECT c.system_identifier::text, d.oid::bigint
  FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()`

// Runtime tells what this process works with.
//
// Errors: unavailable, when one of the databases doesn't answer.
func (s *Service) Runtime(ctx context.Context) (Runtime, error) {
	r := Runtime{Build: s.build, Store: s.place}
	for _, db := range s.router.Databases() {
		identity := Database{Name: db.Name, Numbers: postgres.FormatNumbers(db.Numbers)}
		rows, _ := db.Pool.Query(ctx, sqlIdentity)
		_, err := pgx.ForEachRow(rows, []any{&identity.System, &identity.OID}, func() error { return nil })
		if err != nil {
			return Runtime{}, postgres.Classify(err)
		}
		r.Databases = append(r.Databases, identity)
	}
	return r, nil
}
