package main

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// migrations plans and activates migrations, and has the process report itself from
// now on: who activates one must see every process that serves.
func (p *process) migrations(ctx context.Context, records *record.Service) (*migration.Service, error) {
	key, err := p.store.InstallationKey(ctx)
	if err != nil {
		return nil, fmt.Errorf("the installation's key: %w", err)
	}
	moves := migration.New(p.router, p.store, records, migration.Options{
		Build: telemetry.Build(), IDKey: key, Place: migration.PlaceOf(p.config.Bodies.Endpoint, p.config.Bodies.Bucket),
		Tokens: p.tokens, Log: p.telemetry.Log,
	})
	p.background(ctx, func(ctx context.Context) error {
		moves.RunReports(ctx, moves.This(migration.ProcessAPI))
		return nil
	})
	return moves, nil
}
