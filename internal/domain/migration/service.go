package migration

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Service plans, activates and makes migrations of tenants' bodies.
type Service struct {
	router  *postgres.Router
	control *tenancy.Store
	records *record.Service
	build   string          // Options.Build
	idKey   []byte          // Options.IDKey
	place   StorePlace      // Options.Place
	tokens  *tenancy.Tokens // Options.Tokens
	log     *slog.Logger
	metrics *metrics
}

// Options say what process a Service is of.
type Options struct {
	Build  string          // that runs
	IDKey  []byte          // from which ids derive that belong to an idempotency key
	Place  StorePlace      // where bodies go; zero without an object store
	Tokens *tenancy.Tokens // with which verifications read; nil where none is begun
	Log    *slog.Logger    // nil for none
}

// New makes the service of a process. records must be one that enters to serve.
func New(router *postgres.Router, control *tenancy.Store, records *record.Service, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{router: router, control: control, records: records, build: o.Build, idKey: o.IDKey, place: o.Place, tokens: o.Tokens, log: o.Log, metrics: newMetrics(otel.GetMeterProvider())}
}

func (s *Service) entry(tenant domain.TenantID, numbers ...domain.Number) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Numbers: numbers, Purpose: tenancy.Serve}
}

// read gives a collection's checkpoint; zero for none.
func (s *Service) read(ctx context.Context, tenant domain.TenantID, number domain.Number, id domain.CollectionID) (c Checkpoint, err error) {
	e := s.entry(tenant, number)
	e.ReadOnly = true
	err = tenancy.Run(ctx, s.router.Database(number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		queueCheckpoint(tx, sqlReadCheckpoint, number, id, &c)
		return nil
	})
	return c, err
}
