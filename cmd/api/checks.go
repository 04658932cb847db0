package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/httpapi"
	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// checks are what must be well for the process to be sent requests: each
// database answers, has all of this build's schema and the numbers that are placed on
// it, and who may call is known. A newer build's schema is well: every deployment
// brings it before its processes, and those that serve must go on until they are
// replaced. None starts on it any more, and what a process must not do there the gates
// refuse. The object store is only reported: most requests need
// none, and every process would be unready at once.
func (p *process) checks() []httpapi.ReadinessCheck {
	checks := []httpapi.ReadinessCheck{
		{Name: "tokens", Gates: true, Run: func(context.Context) error { return p.tokens.Ready() }},
		{Name: "database/control", Gates: true, Run: schemaCheck(p.router.Control(), postgres.ControlSet)},
		{Name: "jobs/schema", Gates: true, Run: func(ctx context.Context) error {
			return lacksNothing(riverschema.ReadStatus(ctx, p.router.Control()))
		}},
		{Name: "placement", Gates: true, Run: func(ctx context.Context) error { return postgres.CheckPlacement(ctx, p.router) }},
	}
	for _, db := range p.router.Databases() {
		checks = append(checks, httpapi.ReadinessCheck{Name: "database/" + db.Name, Gates: true, Run: schemaCheck(db.Pool, postgres.DataSet)})
	}
	if p.bodies != nil {
		checks = append(checks, httpapi.ReadinessCheck{Name: "object_store", Run: p.bodies.Probe})
	}
	return checks
}

func schemaCheck(pool *pgxpool.Pool, set postgres.MigrationSet) func(context.Context) error {
	return func(ctx context.Context) error { return lacksNothing(postgres.ReadSchemaStatus(ctx, pool, set)) }
}

// lacksNothing looks at what is pending only.
func lacksNothing(status postgres.SchemaStatus, err error) error {
	if err != nil {
		return err
	}
	status.Unknown = nil
	return status.Check()
}
