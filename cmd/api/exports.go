package main

import (
	"github.com/holdfast-dev/holdfast/internal/domain/export"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// exportMemory is for the bodies of exports, which are read one a request.
const exportMemory = 64 << 20

// exports reads what tenants own, of those too that are suspended or being deleted. It
// has memory of its own, so that an export and the tenants' calls don't wait for each
// other.
func (p *process) exports() *export.Service {
	journals := lease.New(p.router, nil, lease.Options{Tracing: p.telemetry.Tracers, Purpose: tenancy.Export, Log: p.telemetry.Log})
	records := record.New(p.router, nil, p.bodyStore(), record.Options{
		Tracing: p.telemetry.Tracers, Purpose: tenancy.Export, Memory: record.NewMemory(exportMemory), Log: p.telemetry.Log,
	})
	return export.New(p.router, p.store, journals, records)
}
