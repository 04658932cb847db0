package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Backlog is the unfinished work of one data database, of all tenants: the
// operations that are under way, and those that wait for somebody to finish
// them.
type Backlog struct {
	Database       string
	Pending        int64
	OldestDeadline *time.Time // of the pending; nil if there are none
}

const sqlBacklog = `SELECT pending, oldest_deadline FROM sweep_backlog()`

// Backlog counts what is unfinished on a data database. It is the worker's.
func (s *Service) Backlog(ctx context.Context, database string) (Backlog, error) {
	db := s.router.Named(database)
	if db == nil {
		return Backlog{}, fmt.Errorf("no data database %q", database)
	}
	backlog := Backlog{Database: database}
	err := db.Pool.QueryRow(ctx, sqlBacklog).Scan(&backlog.Pending, &backlog.OldestDeadline)
	return backlog, postgres.Classify(err)
}
