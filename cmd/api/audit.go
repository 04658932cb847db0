package main

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/audit"
)

// refusals writes what is refused to the audit log until the process closes, and
// then what it has counted of it.
func (p *process) refusals(ctx context.Context, log *audit.Log) *audit.Refusals {
	refusals := audit.NewRefusals(log)
	p.background(ctx, func(ctx context.Context) error {
		return refusals.Run(ctx, func(err error) {
			p.telemetry.Log.ErrorContext(ctx, "refusals are not in the audit log", "error", err)
		})
	})
	return refusals
}
