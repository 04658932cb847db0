package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/httpapi"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/web"
)

// process is a running API with all that it is made of.
type process struct {
	config    config.Config
	fetch     tenancy.FetchSettings
	telemetry *telemetry.Telemetry
	router    *postgres.Router
	bodies    *objectstore.Bucket // nil without an object store
	keys      *tenancy.ServerKeys
	store     *tenancy.Store
	tokens    *tenancy.Tokens
	api       *httpapi.API
	public    *publicServer
	private   *telemetry.Private // nil without a private port

	closers []func(context.Context) error // what to end, in the order of its start
}

// start makes a process that serves, and that fetches the keys of tenants' issuers as
// it is told. After an error nothing of it is left.
func start(ctx context.Context, c config.Config, fetch tenancy.FetchSettings, log io.Writer) (_ *process, err error) {
	p := &process{config: c, fetch: fetch}
	defer func() {
		if err != nil {
			p.close(context.WithoutCancel(ctx))
		}
	}()
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return p.startTelemetry(ctx, log) },
		p.openDatabases,
		p.openBodies,
		p.startTenancy,
		p.makeAPI,
		p.listen,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *process) startTelemetry(ctx context.Context, log io.Writer) (err error) {
	p.telemetry, err = telemetry.Start(ctx, telemetry.Options{
		Service: "holdfast-api", Version: telemetry.Build(), LogLevel: p.config.LogLevel, Output: log,
	})
	if err == nil {
		p.onClose(p.telemetry.Shutdown)
	}
	return err
}

// openDatabases refuses databases whose schema is another build's. It never
// migrates.
func (p *process) openDatabases(ctx context.Context) (err error) {
	settings := p.config.Postgres()
	settings.Tracer = p.telemetry.QueryTracer()
	if p.router, err = postgres.Open(ctx, settings); err != nil {
		return err
	}
	p.onClose(func(context.Context) error { p.router.Close(); return nil })

	for _, db := range p.router.Databases() {
		if err := p.telemetry.ObservePool(db.Name, db.Pool, db.Turns); err != nil {
			return err
		}
	}
	if err := postgres.CheckPooler(ctx, p.router); err != nil {
		return err
	}
	if err := postgres.CheckSchema(ctx, p.router); err != nil {
		return err
	}
	if err := postgres.CheckPlacement(ctx, p.router); err != nil {
		return err
	}
	return riverschema.Check(ctx, p.router.Control())
}

// openBodies asks nothing of the object store: one that is down stops no start.
func (p *process) openBodies(ctx context.Context) (err error) {
	settings, ok := p.config.ObjectStore()
	if !ok {
		return nil
	}
	p.bodies, err = objectstore.Open(ctx, settings, objectstore.Options{
		Log: p.telemetry.Log, Tracers: p.telemetry.Tracers, Meters: p.telemetry.Meters,
	})
	if err == nil {
		p.onClose(func(context.Context) error { return p.bodies.Close() })
	}
	return err
}

// bodyStore is the object store, or a nil that is no pointer's.
func (p *process) bodyStore() record.Store {
	if p.bodies == nil {
		return nil
	}
	return p.bodies
}

// startTenancy makes the first operators where there are none, and knows who
// may call before it returns.
func (p *process) startTenancy(ctx context.Context) (err error) {
	if p.keys, err = serverKeys(p.config.ServerKeys); err != nil {
		return err
	}
	p.store = tenancy.NewStore(p.router.Control(), tenancy.NewGates(p.router), p.keys, time.Now)
	if err := p.telemetry.ObservePool("control", p.router.Control(), p.store.Turns()); err != nil {
		return err
	}
	if err := p.bootstrap(ctx); err != nil {
		return err
	}
	p.tokens, err = tenancy.NewTokens(p.store, tenancy.TokenSettings{Issuer: p.config.Issuer, Fetch: p.fetch}, p.telemetry.Log)
	if err != nil {
		return err
	}
	if err := p.tokens.Poll(ctx); err != nil {
		return fmt.Errorf("signing keys and revocations: %w", err)
	}
	p.background(ctx, p.tokens.Run)
	return nil
}

func (p *process) makeAPI(ctx context.Context) error {
	inserter, err := jobs.NewInserter(p.router.Control(), p.telemetry)
	if err != nil {
		return err
	}
	checkpointKeys := tenancy.NewCheckpointKeys(p.store)
	auditLog := audit.New(p.store, checkpointKeys, time.Now)
	tenantLimits := limits.NewStore(p.store, time.Now)
	limiter, err := limits.NewLimiter(tenantLimits, p.swept(), p.telemetry.Log)
	if err != nil {
		return err
	}
	coordinator := lease.New(p.router, derivedSecrets{p.keys}, lease.Options{
		Tracing: p.telemetry.Tracers, Signer: checkpointKeys, Log: p.telemetry.Log, Quotas: limiter,
	})
	p.background(ctx, coordinator.Run)
	p.background(ctx, func(ctx context.Context) error {
		return coordinator.MeasureHeat(ctx, func(err error) {
			p.telemetry.Log.WarnContext(ctx, "what was counted of worlds' heat is lost", "error", err)
		})
	})
	records := record.New(p.router, coordinator, p.bodyStore(), record.Options{
		Tracing: p.telemetry.Tracers, Log: p.telemetry.Log, StillValid: p.tokens.StillValid, Quotas: limiter,
	})
	if err := records.Memory().Observe(p.telemetry.Meters, "requests"); err != nil {
		return err
	}
	moves, err := p.migrations(ctx, records)
	if err != nil {
		return err
	}
	p.api, err = httpapi.New(httpapi.Options{
		Document:       web.OpenAPI,
		Directory:      identity.New(p.router, derivedSecrets{p.keys}, identity.Options{Tracing: p.telemetry.Tracers, Quotas: limiter}),
		Coordinator:    coordinator,
		CheckpointKeys: checkpointKeys,
		Records:        records,
		Migrations:     moves,
		Exports:        p.exports(),
		Memory:         records.Memory(),
		StorageGuard:   records,
		Administration: p.store,
		Tokens:         p.tokens,
		Jobs:           inserter,
		Limiter:        limiter,
		TenantLimits:   tenantLimits,
		Audit:          auditLog,
		AuditRefusals:  p.refusals(ctx, auditLog),
		Databases:      p.swept(),
		Checks:         p.checks(),
		Issuer:         p.config.Issuer,
		Proxies:        p.config.Proxies,
		CursorSecrets:  cursorSecrets(p.config.ServerKeys),
		Log:            p.telemetry.Log,
		Tracers:        p.telemetry.Tracers,
		Meters:         p.telemetry.Meters,
	})
	return err
}

// swept are the names of the data databases that have numbers, which is what
// sweeps walk.
func (p *process) swept() (names []string) {
	for _, db := range p.router.Databases() {
		if len(db.Numbers) > 0 {
			names = append(names, db.Name)
		}
	}
	return names
}

// listen opens the private port first: who finds the public one open finds the
// metrics too.
func (p *process) listen(ctx context.Context) (err error) {
	if address := p.config.MetricsAddress; address != "" {
		if p.private, err = p.telemetry.ServePrivate(ctx, address); err != nil {
			return fmt.Errorf("the private port: %w", err)
		}
		p.onClose(p.private.Shutdown)
		p.telemetry.Log.InfoContext(ctx, "the private port listens", "address", p.private.Address())
	}
	p.public, err = servePublic(ctx, p.config.APIAddress, p.api, p.telemetry.Log)
	return err
}

// background runs fn until the process closes.
func (p *process) background(ctx context.Context, fn func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	p.onClose(func(context.Context) error { cancel(); return <-done })
}

func (p *process) onClose(fn func(context.Context) error) { p.closers = append(p.closers, fn) }
