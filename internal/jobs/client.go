package jobs

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/riverqueue/rivercontrib/otelriver"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// client is River's, on the control database.
type client = river.Client[pgx.Tx]

func newClient(control *pgxpool.Pool, config *river.Config) (*client, error) {
	return river.NewClient(riverpgxv5.New(control), config)
}

// baseConfig is what a client that inserts and a client that works share. The
// trace of whoever inserts a job travels in the job, and the span of its work
// links to it.
func baseConfig(tel *telemetry.Telemetry) *river.Config {
	return &river.Config{
		Logger: tel.Log,
		Plugins: []rivertype.Plugin{
			otelriver.NewMiddleware(&otelriver.MiddlewareConfig{
				EnableSemanticMetrics:       true,
				EnableTracePropagation:      true,
				EnableWorkSpanJobKindSuffix: true,
				MeterProvider:               tel.Meters,
				TracerProvider:              tel.Tracers,
			}),
		},
	}
}
