package lease

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/singleflight"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Bounds of what a caller may ask for, and what it gets if it doesn't ask.
const (
	DefaultTerm    = 30 * time.Second
	MinTerm        = 5 * time.Second
	MaxTerm        = time.Hour // above a minute a crashed holder stalls its world for longer than that
	DefaultReplay  = time.Minute
	MaxReplay      = 10 * time.Minute // from the handoff to the activation
	MaxWait        = time.Minute      // in the waiting line, in one request
	MaxEntries     = 1000             // a request
	MaxPayload     = 1 << 20          // bytes of all payloads of a request
	MaxRenewals    = 1000             // a request
	maxRequestID   = 64               // bytes
	maxReason      = 200              // characters
	coalesce       = 10 * time.Second // between two journaled rejections of one principal
	maxWaitedBytes = 32 << 20         // of entries that wait, of one tenant on one database
	maxWaiting     = 32 * MaxRenewals // decisions that wait, likewise: many nodes renew at once, and others append
	maxFlushBytes  = 4 << 20          // of entries in one transaction
	maxFlushTime   = 2 * time.Second  // behind which a transaction no longer holds up the next
	busyTimeout    = 5 * time.Second  // for a head that another process holds
)

// Secrets derives what is shown once. keyID says which server key did, and
// stays with the row.
type Secrets interface {
	Derive(parts ...string) (secret []byte, keyID string)
	DeriveWith(keyID string, parts ...string) (secret []byte, ok bool)
}

// Options are what a Service may be given. The zero value is production's.
type Options struct {
	Tracing trace.TracerProvider
	Purpose tenancy.Purpose // tenancy.Serve if ""
	Signer  Signer          // of checkpoints; who asks for none needs none
	Log     *slog.Logger    // nil for none
	Quotas  domain.Quotas   // nil for none
	// PollEvery is how often followed journals are looked at, in case notifications
	// are lost; one second if 0.
	PollEvery time.Duration
}

// Service is the coordinator of all tenants' worlds.
type Service struct {
	router  *postgres.Router
	purpose tenancy.Purpose
	secrets Secrets
	quotas  domain.Quotas
	tracer  trace.Tracer

	deciding *tenancy.Sharer[decision]
	queueing *tenancy.Sharer[decision] // of worlds that another process was found busy with
	backlog  *backlog
	hub      *hub
	notifier *notifier
	poller   *poller
	pages    singleflight.Group // that followers of journals read
	signer   Signer
	heat     *thermometer
	metrics  *metrics
}

// New makes the coordinator over the router's data databases.
func New(router *postgres.Router, secrets Secrets, options Options) *Service {
	if options.Tracing == nil {
		options.Tracing = otel.GetTracerProvider()
	}
	if options.Purpose == "" {
		options.Purpose = tenancy.Serve
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Quotas == nil {
		options.Quotas = domain.Unlimited{}
	}
	if options.PollEvery == 0 {
		options.PollEvery = time.Second
	}
	s := &Service{
		router:  router,
		purpose: options.Purpose,
		secrets: secrets,
		quotas:  options.Quotas,
		tracer:  options.Tracing.Tracer("github.com/holdfast-dev/holdfast/internal/domain/lease"),
		backlog: newBacklog(),
		hub:     newHub(),
		signer:  options.Signer,
		heat:    newThermometer(),
		metrics: newMetrics(otel.GetMeterProvider()),
	}
	s.notifier = newNotifier(router, s.hub, options.Log)
	s.poller = newPoller(router, s.entry, s.hub, options.PollEvery)
	// A second transaction beside a slow one of our own would find its heads locked.
	limits := tenancy.Limits[decision]{UnderWay: 1, Patience: maxFlushTime, Waiting: maxWaiting, Weight: maxFlushBytes, Weigh: (*decision).weight}
	s.deciding = tenancy.NewSharer("lease.decide", s.tracer, s.decideBeside).Limit(limits)
	s.queueing = tenancy.NewSharer("lease.decide_in_turn", s.tracer, s.decideInTurn).Limit(limits)
	return s
}

// worldRef names a world and the number where everything of it stands.
type worldRef struct {
	number domain.Number
	id     string
}

func (s *Service) entry(tenant domain.TenantID, numbers ...domain.Number) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Numbers: numbers, Purpose: s.purpose}
}

// actorOf is the caller as the journal names it: issuer and subject, which
// survive the rotation of its keys.
func actorOf(scope tenancy.Scope) journal.Actor {
	kind := journal.ActorPrincipal
	if scope.IsOperator() {
		kind = journal.ActorOperator
	}
	if by := scope.External; by.Issuer != "" {
		return journal.Actor{Type: kind, Issuer: by.Issuer, Subject: by.Subject} // a URL, and so never Holdfast's own name
	}
	return journal.Actor{Type: kind, Issuer: journal.HoldfastIssuer, Subject: scope.Principal.String()}
}

// demandReach refuses a caller another tenant's worlds, as if they weren't there.
// An operator reaches every tenant's.
func demandReach(scope tenancy.Scope, tenant domain.TenantID) error {
	if scope.IsOperator() || scope.Tenant == tenant {
		return nil
	}
	return errNoWorld
}
