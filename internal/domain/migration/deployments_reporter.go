package migration

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// farewell bounds what a process spends on its last words.
const farewell = 2 * time.Second

// RunReports reports a process at once and then each 10 s, until ctx ends, and then
// takes its row away. One that was killed counts as alive for a minute more.
func (s *Service) RunReports(ctx context.Context, p Process) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		if err := s.Report(ctx, p); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the process can't report itself", "error", err)
		}
		select {
		case <-ctx.Done():
			s.leave(context.WithoutCancel(ctx), p)
			return
		case <-tick.C:
		}
	}
}

const sqlLeave = `DELETE FROM deployments WHERE process_id = $1`

func (s *Service) leave(ctx context.Context, p Process) {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	err := s.control.ControlTx(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlLeave, p.ID)
		return err
	})
	if err != nil {
		s.log.WarnContext(ctx, "the process counts as alive for a minute yet", "error", err)
	}
}
