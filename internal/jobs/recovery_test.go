package jobs_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// dieAt is a process that dies at a point of the claims protocol.
type dieAt string

var errDied = errors.New("the process died here")

func (d dieAt) Reach(_ context.Context, point string) error {
	if point == string(d) {
		return errDied
	}
	return nil
}

// A request dies between its claims and its commit. The real domain, swept by
// the worker, frees the handle, in a trace that links to the request's.
func TestSweep_FinishesWhatADeadRequestLeftAndLinksToItsTrace(t *testing.T) {
	t.Parallel()
	b := setUp(t, 3)
	router := b.Router(t, postgres.RoleAPI)
	scope := openTenant(t, router)
	request, span := b.tel.Tracers.Tracer("test").Start(t.Context(), "POST /v1/accounts")
	dying := identity.New(router, nil, identity.Options{Deadline: time.Millisecond, Faults: dieAt("claimed"), Stepwise: true, Tracing: b.tel.Tracers})
	if _, err := dying.Create(request, scope, identity.CreateAccount{Handle: "ada"}); !errors.Is(err, errDied) {
		t.Fatalf("the request ended with %v", err)
	}
	span.End()
	left := b.leftOn(t, "data1", "data2", "data3")
	if operations, claims := left(); operations != 1 || claims != 1 {
		t.Fatalf("the request left %d operations and %d claims, want one each", operations, claims)
	}

	sweeping := identity.New(b.Router(t, postgres.RoleWorker), nil, identity.Options{Tracing: b.tel.Tracers})
	if pending, overdue := backlog(t, sweeping); pending != 1 || !overdue {
		t.Errorf("the backlog is %d, overdue %v, want the one overdue operation", pending, overdue)
	}
	w := b.runner(t, sweeping, func(o *jobs.Options) { o.SweepEvery = 100 * time.Millisecond })
	await(t, "nothing to be left", func() bool {
		operations, claims := left()
		return operations+claims == 0
	})
	w.stop(t) // and with it, every span is ended
	if pending, overdue := backlog(t, sweeping); pending != 0 || overdue {
		t.Errorf("after the sweep the backlog is %d, overdue %v", pending, overdue)
	}

	var recovery sdktrace.ReadOnlySpan
	for _, ended := range b.spans.Ended() {
		if ended.Name() == "identity.recover" {
			recovery = ended
		}
	}
	if recovery == nil {
		t.Fatal("the recovery has no span")
	}
	var causes []trace.TraceID
	for _, link := range recovery.Links() {
		causes = append(causes, link.SpanContext.TraceID())
	}
	if len(causes) != 1 || causes[0] != span.SpanContext().TraceID() {
		t.Errorf("the recovery is linked to %v, want the request's trace, %v", causes, span.SpanContext().TraceID())
	}

	living := identity.New(router, nil, identity.Options{})
	if _, err := living.Create(t.Context(), scope, identity.CreateAccount{Handle: "ada"}); err != nil {
		t.Errorf("the handle can't be taken afterwards: %v", err)
	}
}

// oneSecret derives from a key of the test's.
type oneSecret struct{}

func (oneSecret) Derive(parts ...string) (secret []byte, keyID string) {
	return domain.DeriveSecret([]byte("key"), parts...), "test"
}

func (s oneSecret) DeriveWith(_ string, parts ...string) (secret []byte, ok bool) {
	secret, _ = s.Derive(parts...)
	return secret, true
}

// openTenant makes a tenant that is served, and the scope of a principal of it.
func openTenant(t *testing.T, router *postgres.Router) tenancy.Scope {
	t.Helper()
	scope := tenancy.Scope{
		Tenant:    domain.NewID[domain.TenantKind](time.Now()),
		Principal: domain.NewID[domain.PrincipalKind](time.Now()),
		Settings:  tenancy.Settings{HandlePolicy: "ascii", IDKey: []byte("a key of the tenant's own")},
	}
	open := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open"}
	if err := tenancy.NewGates(router).Set(t.Context(), scope.Tenant, open); err != nil {
		t.Fatal(err)
	}
	return scope
}

// The real domain, cleaned up by the worker.
func TestCleanup_TheWorkerRemovesWhatHasHadItsTimeAndCountsItByTask(t *testing.T) {
	b := setUp(t, 3)
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Service: "holdfast-test", LogLevel: slog.LevelError, Output: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	b.tel.Meters, b.tel.Metrics = tel.Meters, tel.Metrics
	router := b.Router(t, postgres.RoleAPI)
	scope := openTenant(t, router)
	serving := identity.New(router, oneSecret{}, identity.Options{})
	device, err := serving.CreateDevice(t.Context(), scope, identity.CreateDevice{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data1", "data2", "data3"} {
		for _, table := range []string{"devices", "claims"} {
			if _, err := b.Admin(t, name).Exec(t.Context(), `UPDATE `+table+` SET expires_at = expires_at - interval '2 days'`); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.runner(t, identity.New(b.Router(t, postgres.RoleWorker), nil, identity.Options{}), nil)
	b.awaitJobsOf(t, cleanupKind, finished("data1", "data2", "data3")...)
	if _, err := serving.GetDevice(t.Context(), scope, device.ID); domain.KindOf(err) != domain.KindNotFound {
		t.Errorf("the device is answered with %v", err)
	}
	response := httptest.NewRecorder()
	b.tel.Metrics.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`holdfast_sweep_visited_total{family="device",kind="lapsed_devices"} 1`,
		`holdfast_sweep_recovered_total{family="device",kind="lapsed_devices"} 1`,
		`holdfast_sweep_recovered_total{family="account",kind="tombstones"} 0`,
		`holdfast_sweep_pass_age_seconds{family="device",kind="lapsed_devices"}`,
		`holdfast_jobs_depth{kind="identity_cleanup",state="running"} 0`,
	} {
		if !strings.Contains(response.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// backlog adds up the backlogs of all data databases.
func backlog(t *testing.T, s *identity.Service) (pending int64, overdue bool) {
	t.Helper()
	for _, name := range []string{"data1", "data2", "data3"} {
		found, err := s.Backlog(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		pending += found.Pending
		overdue = overdue || found.OldestDeadline != nil && found.OldestDeadline.Before(time.Now())
	}
	return pending, overdue
}

// leftOn gives a function that counts the operations and the claims on all data
// databases.
func (b *bundle) leftOn(t *testing.T, names ...string) func() (operations, claims int) {
	t.Helper()
	var pools []*pgxpool.Pool
	for _, name := range names {
		pools = append(pools, b.Admin(t, name))
	}
	return func() (operations, claims int) {
		t.Helper()
		for _, pool := range pools {
			var o, c int
			err := pool.QueryRow(context.Background(), `SELECT (SELECT count(*) FROM operations), (SELECT count(*) FROM claims)`).Scan(&o, &c)
			if err != nil {
				t.Fatal(err)
			}
			operations, claims = operations+o, claims+c
		}
		return operations, claims
	}
}
