package jobs

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// Identity is what the jobs need of the identity domain. A step reads one page
// of one number from a cursor that the domain keeps, and deals with what it
// finds; any number may run at once.
type Identity interface {
	SweepOperations(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (identity.SweepStep, error)
	SweepClaims(ctx context.Context, database string, family domain.Family, number domain.Number, limit int) (identity.SweepStep, error)
	Cleanup(ctx context.Context, database string, task identity.CleanupTask, number domain.Number, limit int) (identity.SweepStep, error)
	// Backlog counts what is unfinished on a database.
	Backlog(ctx context.Context, database string) (identity.Backlog, error)
	// SweepProgress tells how far the sweeps and the cleanup are on each database.
	SweepProgress(ctx context.Context) ([]identity.SweepProgress, error)
}
