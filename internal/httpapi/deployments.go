package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// ListDeployments serves GET /v1/deployments.
func (s *server) ListDeployments(ctx context.Context, _ ListDeploymentsRequestObject) (ListDeploymentsResponseObject, error) {
	live, err := s.migrations.Deployments(ctx)
	if err != nil {
		return nil, err
	}
	runtime, err := s.migrations.Runtime(ctx)
	if err != nil {
		return nil, err
	}
	return ListDeployments200JSONResponse{Processes: encodeAll(live, encodeProcess), Runtime: encodeRuntime(runtime)}, nil
}

func encodeProcess(p migration.Process) Process {
	return Process{
		ProcessID: p.ID.String(), Kind: string(p.Kind), Build: p.Build,
		RecordFormats: encodeAll(p.Formats, func(format int16) int { return int(format) }),
		StartedAt:     p.StartedAt.UTC(), ReportedAt: p.ReportedAt.UTC(),
	}
}

// encodeRuntime leaves the object store out where there is none.
func encodeRuntime(r migration.Runtime) Runtime {
	encoded := Runtime{Build: r.Build, Databases: encodeAll(r.Databases, func(d migration.Database) DatabaseIdentity {
		return DatabaseIdentity{Name: d.Name, SystemIdentifier: d.System, DatabaseOid: d.OID, Numbers: d.Numbers}
	})}
	if r.Store != (migration.StorePlace{}) {
		encoded.Store = &StorePlace{Endpoint: r.Store.Endpoint, Bucket: r.Store.Bucket, Prefix: r.Store.Prefix}
	}
	return encoded
}
