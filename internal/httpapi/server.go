package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Options are what the API is made of.
type Options struct {
	Document       []byte // web/openapi.yaml
	Directory      Directory
	Coordinator    Coordinator
	CheckpointKeys CheckpointKeys
	Administration Administration
	Records        Records
	Migrations     Migrations
	Exports        Exports
	Memory         Memory       // of which large bodies have their room
	StorageGuard   StorageGuard // nil where there is no object store
	Tokens         Tokens
	Jobs           Jobs
	Limiter        Limiter
	TenantLimits   TenantLimits
	Audit          AuditLog
	AuditRefusals  AuditRefusals
	Databases      []string // those that sweeps walk
	Checks         []ReadinessCheck

	Issuer         string         // what tokens name as theirs: the API's public URL, without a trailing slash
	Proxies        []netip.Prefix // of the proxies in front, that are believed whom they forward
	CursorSecrets  [][]byte       // from which the keys of cursors derive; the first seals, all open
	RequestTimeout time.Duration  // how long a request may take, where the document doesn't say; 30 s if 0
	StreamPause    time.Duration  // how long the caller may pause in sending or taking what is a stream; 20 s if 0

	Log     *slog.Logger
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
}

// API is the HTTP handler of the whole API.
type API struct {
	echo     *echo.Echo
	draining *readiness
}

// server has the handlers of the operations, which the generated code calls.
type server struct {
	directory      Directory
	coordinator    Coordinator
	checkpointKeys CheckpointKeys
	administration Administration
	records        Records
	migrations     Migrations
	exports        Exports
	memory         Memory
	storageGuard   StorageGuard
	tokens         Tokens
	jobs           Jobs
	limiter        Limiter
	tenantLimits   TenantLimits
	auditLog       AuditLog
	auditRefusals  AuditRefusals
	hourlyActs     hourlyActs
	databases      []string
	readiness      *readiness
	document       document
	documentation  documentation

	issuer     string
	operations map[route]*operation
	cursors    cursors
	timeout    time.Duration
	pause      time.Duration
	log        *slog.Logger
}

var _ StrictServerInterface = (*server)(nil)

// New makes the API. It fails on a document that it can't hold requests
// against: an operation without a scope, say.
func New(o Options) (*API, error) {
	doc, operations, err := loadOperations(o.Document)
	if err != nil {
		return nil, err
	}
	if len(o.CursorSecrets) == 0 {
		return nil, errors.New("cursors need a secret")
	}
	if o.Issuer == "" {
		return nil, errors.New("the metadata needs an issuer")
	}
	published, err := published(doc)
	if err != nil {
		return nil, err
	}
	documentation, err := newDocumentation()
	if err != nil {
		return nil, err
	}
	tracing, err := newTracing(o.Tracers, o.Meters)
	if err != nil {
		return nil, err
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = 30 * time.Second
	}
	if o.StreamPause == 0 {
		o.StreamPause = 20 * time.Second
	}
	s := &server{
		directory:      o.Directory,
		coordinator:    o.Coordinator,
		checkpointKeys: o.CheckpointKeys,
		administration: o.Administration,
		records:        o.Records,
		migrations:     o.Migrations,
		exports:        o.Exports,
		memory:         o.Memory,
		storageGuard:   o.StorageGuard,
		tokens:         o.Tokens,
		jobs:           o.Jobs,
		limiter:        o.Limiter,
		tenantLimits:   o.TenantLimits,
		auditLog:       o.Audit,
		auditRefusals:  o.AuditRefusals,
		databases:      o.Databases,
		readiness:      newReadiness(o.Checks, o.Log),
		document:       published,
		documentation:  documentation,
		issuer:         o.Issuer,
		operations:     operations,
		cursors:        newCursors(o.CursorSecrets),
		timeout:        o.RequestTimeout,
		pause:          o.StreamPause,
		log:            o.Log,
	}
	if err := s.readiness.observe(o.Meters); err != nil {
		return nil, err
	}
	e := newEcho(o.Proxies)
	e.Use(s.identify, tracing.middleware, s.logAccess, s.limit, allowHead, s.answer, refuseSlashes, s.audit, s.authenticate, s.pace, s.validate)
	RegisterHandlers(e, NewStrictHandler(s, []StrictMiddlewareFunc{s.begin}))
	if err := s.demandRoutes(e); err != nil {
		return nil, err
	}
	if o.Limiter == nil {
		return nil, errors.New("callers need limits")
	}
	if o.Audit == nil || o.AuditRefusals == nil {
		return nil, errors.New("administrative acts need an audit log")
	}
	return &API{echo: e, draining: s.readiness}, nil
}

// ServeHTTP serves a request. HEAD is served as GET: w knows the true method,
// and net/http's sends no body then.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		r = r.WithContext(context.WithValue(r.Context(), headKey{}, true)) // a copy: w looks at the method of the original
		r.Method = http.MethodGet
	}
	a.echo.ServeHTTP(w, exactPath(r))
}

// exactPath has the router see the path as it was sent. Values of it are decoded
// behind the router, which sees the decoded path where net/url keeps no other: what
// looks encoded there would be decoded twice.
func exactPath(r *http.Request) *http.Request {
	if r.URL.RawPath != "" || !strings.Contains(r.URL.Path, "%") {
		return r
	}
	exact, url := *r, *r.URL
	url.RawPath = url.EscapedPath()
	exact.URL = &url
	return &exact
}

type headKey struct{}

// isHead tells an operation whose answer has no end that only its headers are
// asked for.
func isHead(ctx context.Context) bool { return ctx.Value(headKey{}) != nil }

// Drain makes /readyz fail from now on, so that nobody sends new requests.
// Those that come all the same are served. Requests that wait for others end at
// once.
func (a *API) Drain() { a.draining.drain() }

// newEcho believes the forwarding headers of the proxies in front, and nobody else's:
// left to itself, Echo would take the caller's address from anybody, and the scheme
// from any private address.
func newEcho(proxies []netip.Prefix) *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.Binder = binder{}
	e.IPExtractor = callerAddress(proxies)
	e.SchemeExtractor = echo.ExtractSchemeDirect()
	return e
}

// callerAddress is the last address of X-Forwarded-For that isn't a proxy's: what
// stands before it, the caller may have written itself.
func callerAddress(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trusted := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		trusted = append(trusted, echo.TrustIPRange(&net.IPNet{
			IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(trusted...)
}

// demandRoutes fails when what is served isn't what the document describes.
func (s *server) demandRoutes(e *echo.Echo) error {
	served := 0
	for _, r := range e.Routes() {
		if s.operations[route{r.Method, r.Path}] == nil {
			return fmt.Errorf("%s %s is served and not described", r.Method, r.Path)
		}
		served++
	}
	if served != len(s.operations) {
		return fmt.Errorf("%d operations are described, %d are served", len(s.operations), served)
	}
	return nil
}

// refuseSlashes finds no route for a path with more segments than its template:
// Echo lets the last parameter of a template take all that is left.
func refuseSlashes(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		for _, value := range c.ParamValues() {
			if strings.Contains(value, "/") {
				return echo.ErrNotFound
			}
		}
		return next(c)
	}
}
