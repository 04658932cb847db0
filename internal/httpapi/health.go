package httpapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/singleflight"
)

// ReadinessCheck is something that must be well for the process to serve.
type ReadinessCheck struct {
	Name  string // "database/control"
	Gates bool   // whether a failure makes the process unready, or is only reported
	Run   func(context.Context) error
}

// checkTimeout bounds each check: a probe that hangs tells nothing.
const checkTimeout = 2 * time.Second

// readiness runs the checks. What a failing one says is for the log: it may
// name hosts. Anybody may ask, so those who ask at once share one run.
type readiness struct {
	checks   []ReadinessCheck
	draining context.Context // ends when the process begins to drain
	drain    context.CancelFunc
	running  singleflight.Group
	log      *slog.Logger
}

func newReadiness(checks []ReadinessCheck, log *slog.Logger) *readiness {
	draining, drain := context.WithCancel(context.Background())
	return &readiness{checks: checks, draining: draining, drain: drain, log: log}
}

// observe reports the checks as metrics, which has them run at each scrape: whoever
// spreads the load asks too, and tells nobody.
func (r *readiness) observe(meters metric.MeterProvider) error {
	meter := meters.Meter(instrumentation)
	ready, err := meter.Int64ObservableGauge("holdfast.ready",
		metric.WithDescription("1 while the process wants requests: nothing that it needs fails, and it isn't draining."))
	if err != nil {
		return err
	}
	checks, err := meter.Int64ObservableGauge("holdfast.ready.check",
		metric.WithDescription("1 for a readiness check that is well, 0 for one that fails."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		state := r.state(ctx)
		to.ObserveInt64(ready, one(state.Status == "ready"))
		for _, check := range state.Checks {
			to.ObserveInt64(checks, one(check.Status == "ok"), metric.WithAttributes(attribute.String("check", check.Name)))
		}
		return nil
	}, ready, checks)
	return err
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// state gives the state of the process and of each check.
func (r *readiness) state(ctx context.Context) Readiness {
	shared, _, _ := r.running.Do("", func() (any, error) { return r.run(context.WithoutCancel(ctx)), nil })
	state := shared.(Readiness)
	if r.draining.Err() != nil {
		state.Status = "draining"
	}
	return state
}

// run runs the checks side by side.
func (r *readiness) run(ctx context.Context) Readiness {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	failures := make([]error, len(r.checks))
	var all sync.WaitGroup
	for i, check := range r.checks {
		all.Go(func() { failures[i] = check.Run(ctx) })
	}
	all.Wait()

	state := Readiness{Status: "ready", Checks: make([]Check, len(r.checks))}
	for i, check := range r.checks {
		state.Checks[i] = Check{Name: check.Name, Status: "ok"}
		if failures[i] == nil {
			continue
		}
		r.log.WarnContext(ctx, "a readiness check failed: "+check.Name, "error", failures[i])
		state.Checks[i].Status = "failing"
		if check.Gates {
			state.Status = "failing"
		}
	}
	return state
}

// Livez serves GET /livez. It depends on nothing: a process that can't reach a
// database must not be restarted for it.
func (s *server) Livez(context.Context, LivezRequestObject) (LivezResponseObject, error) {
	return Livez200JSONResponse{Status: "alive"}, nil
}

// Readyz serves GET /readyz.
func (s *server) Readyz(ctx context.Context, _ ReadyzRequestObject) (ReadyzResponseObject, error) {
	state := s.readiness.state(ctx)
	if state.Status != "ready" {
		return Readyz503JSONResponse(state), nil
	}
	return Readyz200JSONResponse(state), nil
}
