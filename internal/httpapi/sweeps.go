package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// ListSweeps serves GET /v1/sweeps.
func (s *server) ListSweeps(ctx context.Context, _ ListSweepsRequestObject) (ListSweepsResponseObject, error) {
	progress, err := s.directory.SweepProgress(ctx)
	if err != nil {
		return nil, err
	}
	return ListSweeps200JSONResponse{Sweeps: encodeAll(progress, encodeSweep)}, nil
}

func encodeSweep(p identity.SweepProgress) Sweep {
	return Sweep{
		Kind:       p.Kind,
		Family:     string(p.Family),
		Database:   p.Database,
		Numbers:    p.Numbers,
		Passes:     p.Passes,
		OldestPass: utcOrNil(p.OldestPass),
		Visited:    p.Visited,
		Recovered:  p.Recovered,
	}
}
