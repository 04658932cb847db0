package httpapi

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// ListSweeps serves GET /v1/sweeps.
func (s *server) ListSweeps(ctx context.Context, _ ListSweepsRequestObject) (ListSweepsResponseObject, error) {
	progress, err := s.directory.SweepProgress(ctx)
	if err != nil {
		return nil, err
	}
	ofRecords, err := s.records.SweepProgress(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range ofRecords {
		progress = append(progress, identity.SweepProgress(p))
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

// RunSweep serves POST /v1/sweeps/{kind}/run.
func (s *server) RunSweep(ctx context.Context, request RunSweepRequestObject) (RunSweepResponseObject, error) {
	ask := s.jobs.IdentitySweep
	switch request.Kind {
	case SweepKindIdentity:
	case SweepKindCleanup:
		ask = s.jobs.IdentityCleanup
	case SweepKindRecordCleanup:
		ask = s.jobs.RecordCleanup
	case SweepKindSnapshots:
		ask = s.jobs.Snapshots
	case SweepKindObjects:
		ask = s.jobs.RecordObjects
	default:
		return nil, domain.NotFound("sweep_not_found", "There is no sweep of this kind.")
	}
	asked, err := ask(ctx, s.databases...)
	if err != nil {
		return nil, err
	}
	return RunSweep202JSONResponse{Databases: encodeAll(s.databases, func(database string) AskedSweep {
		return AskedSweep{Database: database, AlreadyAsked: !slices.Contains(asked, database)}
	})}, nil
}
