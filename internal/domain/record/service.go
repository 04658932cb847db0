package record

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Options are what a Service may be given. The zero value is production's.
type Options struct {
	Tracing trace.TracerProvider
	Purpose tenancy.Purpose // tenancy.Serve if ""
	Log     *slog.Logger    // nil for none
	Limits  Limits          // DefaultLimits if zero
	Memory  *Memory         // of which every body has its room; DefaultMemory bytes if nil
	Quotas  domain.Quotas   // nil for none
	// ObjectAge is how old an object is that counts when nothing refers to it;
	// DefaultObjectAge if 0.
	ObjectAge time.Duration
	// StillValid gives why a caller's token is no longer good, or nil; nil if tokens
	// are nobody's concern here. It is asked of every change once all it changes is
	// locked, so it must not wait, and right before the commit, since bodies may have
	// been on their way for minutes.
	StillValid func(tenancy.Scope) error
}

// DefaultMemory is how many bytes of bodies a process holds at once.
const DefaultMemory = 128 << 20

// Service keeps all tenants' records.
type Service struct {
	router  *postgres.Router
	purpose tenancy.Purpose
	leases  *lease.Service
	store   Store // nil where there is none
	limits  Limits
	memory  *Memory
	quotas  domain.Quotas
	aged    time.Duration // Options.ObjectAge
	tracer  trace.Tracer
	log     *slog.Logger
	valid   func(tenancy.Scope) error // Options.StillValid

	deciding *tenancy.Sharer[decision]
	looking  *tenancy.Sharer[decision] // without locks
	reading  *tenancy.Sharer[reading]
}

// New makes the keeper of records over the router's data databases. store may be
// nil: then there are bodies in SQL only.
func New(router *postgres.Router, leases *lease.Service, store Store, options Options) *Service {
	if options.Tracing == nil {
		options.Tracing = otel.GetTracerProvider()
	}
	if options.Purpose == "" {
		options.Purpose = tenancy.Serve
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Limits == (Limits{}) {
		options.Limits = DefaultLimits
	}
	if options.Memory == nil {
		options.Memory = NewMemory(DefaultMemory)
	}
	if options.Quotas == nil {
		options.Quotas = domain.Unlimited{}
	}
	if options.ObjectAge == 0 {
		options.ObjectAge = DefaultObjectAge
	}
	if options.StillValid == nil {
		options.StillValid = func(tenancy.Scope) error { return nil }
	}
	s := &Service{
		router:  router,
		purpose: options.Purpose,
		leases:  leases,
		store:   store,
		limits:  options.Limits,
		memory:  options.Memory,
		quotas:  options.Quotas,
		aged:    options.ObjectAge,
		tracer:  options.Tracing.Tracer("github.com/holdfast-dev/holdfast/internal/domain/record"),
		log:     options.Log,
		valid:   options.StillValid,
	}
	s.deciding = tenancy.NewSharer("record.decide", s.tracer, s.decideAll).Limit(tenancy.Limits[decision]{
		UnderWay: 1, Patience: patience, Weight: maxFlushBytes, Weigh: (*decision).weight,
	})
	s.looking = tenancy.NewSharer("record.look", s.tracer, s.lookAll)
	s.reading = tenancy.NewSharer("record.read_body", s.tracer, s.bringAll)
	return s
}

// Memory is what bounds the bodies that the process holds. Whoever reads one
// from a caller takes its room first.
func (s *Service) Memory() *Memory { return s.memory }

func (s *Service) entry(tenant domain.TenantID, numbers ...domain.Number) tenancy.Entry {
	return tenancy.Entry{Tenant: tenant, Numbers: numbers, Purpose: s.purpose}
}
