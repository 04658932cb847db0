package identity

import (
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Times of the protocol and of the directory, by the database's clock.
const (
	DefaultDeadline   = 5 * time.Second     // of a prepared operation
	DefaultQuarantine = 30 * 24 * time.Hour // of a deleted account's handle
	DefaultRetention  = 90 * 24 * time.Hour // of events, of revoked devices and of tombstones
	emailChangeTerm   = 30 * time.Minute

	DefaultCodeTerm    = 15 * time.Minute    // of a device code and its user code
	DefaultRefreshTerm = 30 * 24 * time.Hour // of a refresh token
	PollInterval       = 5 * time.Second     // between a device's polls, at first
)

// Secrets derives what is shown once. keyID says which server key did, and
// stays with the row.
type Secrets interface {
	Derive(parts ...string) (secret []byte, keyID string)
	DeriveWith(keyID string, parts ...string) (secret []byte, ok bool)
}

// Options are what a Service may be given. The zero value is production's.
type Options struct {
	Deadline    time.Duration // DefaultDeadline if 0
	Quarantine  time.Duration // DefaultQuarantine if 0
	Retention   time.Duration // DefaultRetention if 0
	CodeTerm    time.Duration // DefaultCodeTerm if 0
	RefreshTerm time.Duration // DefaultRefreshTerm if 0
	Quotas      domain.Quotas // nil for none
	Faults      Faults        // nil in production
	Stepwise    bool          // no steps of a creation in one transaction, even on one database; for tests of the steps
	Tracing     trace.TracerProvider
}

// Service is the directory of all tenants.
type Service struct {
	router      *postgres.Router
	purpose     tenancy.Purpose
	secrets     Secrets
	reserved    Reserved
	deadline    time.Duration
	quarantine  time.Duration
	retention   time.Duration
	codeTerm    time.Duration
	refreshTerm time.Duration
	quotas      domain.Quotas
	faults      Faults
	stepwise    bool
	tracer      trace.Tracer
	metrics     metrics

	// maintenance is the same directory, entered for imports, sweeps and cleanup.
	maintenance *Service

	preparing       *tenancy.Sharer[preparing]
	changing        *tenancy.Sharer[accountChange]
	claiming        *tenancy.Sharer[claiming]
	creating        *tenancy.Sharer[creating]
	creatingAtOnce  *tenancy.Sharer[creating]
	creatingDevices *tenancy.Sharer[creatingDevice]
	releasing       *tenancy.Sharer[releasing]
	aborting        *tenancy.Sharer[aborting]
	finalizing      *tenancy.Sharer[finalizing]
	reading         *tenancy.Sharer[reading]
	resolving       *tenancy.Sharer[resolving]
	polling         *tenancy.Sharer[polling]
}

// New makes the directory over the router's data databases.
func New(router *postgres.Router, secrets Secrets, options Options) *Service {
	if options.Deadline == 0 {
		options.Deadline = DefaultDeadline
	}
	if options.Quarantine == 0 {
		options.Quarantine = DefaultQuarantine
	}
	if options.Retention == 0 {
		options.Retention = DefaultRetention
	}
	if options.CodeTerm == 0 {
		options.CodeTerm = DefaultCodeTerm
	}
	if options.RefreshTerm == 0 {
		options.RefreshTerm = DefaultRefreshTerm
	}
	if options.Quotas == nil {
		options.Quotas = domain.Unlimited{}
	}
	if options.Faults == nil {
		options.Faults = noFaults{}
	}
	if options.Tracing == nil {
		options.Tracing = otel.GetTracerProvider()
	}
	s := newService(router, tenancy.Serve, secrets, options)
	s.maintenance = newService(router, tenancy.Maintain, secrets, options)
	s.maintenance.maintenance = s.maintenance
	return s
}

func newService(router *postgres.Router, purpose tenancy.Purpose, secrets Secrets, options Options) *Service {
	s := &Service{
		router:      router,
		purpose:     purpose,
		secrets:     secrets,
		reserved:    DefaultReserved(),
		deadline:    options.Deadline,
		quarantine:  options.Quarantine,
		retention:   options.Retention,
		codeTerm:    options.CodeTerm,
		refreshTerm: options.RefreshTerm,
		quotas:      options.Quotas,
		faults:      options.Faults,
		stepwise:    options.Stepwise,
		tracer:      options.Tracing.Tracer("github.com/holdfast-dev/holdfast/internal/domain/identity"),
		metrics:     newMetrics(),
	}
	s.preparing = tenancy.NewSharer("identity.prepare", s.tracer, s.prepareAll)
	s.changing = tenancy.NewSharer("identity.account", s.tracer, s.changeAccounts)
	s.claiming = tenancy.NewSharer("identity.claim", s.tracer, s.claimAll)
	s.creating = tenancy.NewSharer("identity.commit", s.tracer, s.createAll)
	s.creatingAtOnce = tenancy.NewSharer("identity.create", s.tracer, s.createAtOnce)
	s.creatingDevices = tenancy.NewSharer("identity.commit_device", s.tracer, s.createDevices)
	s.releasing = tenancy.NewSharer("identity.release", s.tracer, s.releaseAll)
	s.aborting = tenancy.NewSharer("identity.abort", s.tracer, s.abortAll)
	s.finalizing = tenancy.NewSharer("identity.finalize", s.tracer, s.finalizeAll)
	s.reading = tenancy.NewSharer("identity.read", s.tracer, s.readAll)
	s.resolving = tenancy.NewSharer("identity.resolve", s.tracer, s.resolveAll)
	s.polling = tenancy.NewSharer("identity.poll", s.tracer, s.pollAll)
	return s
}
