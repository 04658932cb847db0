package httpapi

import "context"

// ListSweeps serves GET /v1/sweeps.
func (s *server) ListSweeps(ctx context.Context, _ ListSweepsRequestObject) (ListSweepsResponseObject, error) {
	progress, err := s.sweeps.Sweeps(ctx)
	if err != nil {
		return nil, err
	}
	return ListSweeps200JSONResponse{Sweeps: encodeAll(progress, encodeSweep)}, nil
}

func encodeSweep(p SweepProgress) Sweep {
	return Sweep{
		Kind:        p.Kind,
		Family:      string(p.Family),
		Number:      int(p.Number),
		Passes:      p.Passes,
		Recovered:   p.Recovered,
		Misses:      p.Misses,
		PassBeganAt: utcOrNull(p.PassBeganAt),
		PassEndedAt: utcOrNull(p.PassEndedAt),
	}
}
