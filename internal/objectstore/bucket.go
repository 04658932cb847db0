package objectstore

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Bucket is one bucket of an object store. It may be used by many at once.
type Bucket struct {
	name        string
	wire        *wire
	client      *s3.Client
	presigner   *s3.PresignClient
	transport   *http.Transport // nil for one that was given
	limiter     *limiter
	telemetry   *telemetry
	log         *slog.Logger
	maxAttempts int
	timeout     time.Duration
}

// Open makes a bucket ready for use. It sends nothing, so a store that is down
// stops nobody's start; Probe asks.
func Open(_ context.Context, s Settings, o Options) (*Bucket, error) {
	s, err := s.complete()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tracers == nil {
		o.Tracers = tracenoop.NewTracerProvider()
	}
	if o.Meters == nil {
		o.Meters = metricnoop.NewMeterProvider()
	}
	b := &Bucket{
		name:        s.Bucket,
		limiter:     newLimiter(s.MaxConcurrency),
		log:         o.Log,
		maxAttempts: s.MaxAttempts,
		timeout:     s.Timeout,
	}
	carrier := s.Transport
	if carrier == nil {
		b.transport = newTransport(s.MaxConcurrency)
		carrier = b.transport
	}
	client := &http.Client{Transport: carrier, CheckRedirect: noRedirect}
	if b.wire, err = newWire(s, client); err != nil {
		return nil, err
	}
	b.client = newClient(s, client)
	b.presigner = s3.NewPresignClient(b.client)
	if b.telemetry, err = newTelemetry(o.Tracers, o.Meters, s.Bucket, b.limiter); err != nil {
		return nil, err
	}
	return b, nil
}

// Close lets go of idle connections. Requests under way go on.
func (b *Bucket) Close() error {
	if b.transport != nil {
		b.transport.CloseIdleConnections()
	}
	return b.telemetry.close()
}
