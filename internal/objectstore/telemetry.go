package objectstore

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/rpcconv"
	"go.opentelemetry.io/otel/trace"
)

const instrumentation = "github.com/holdfast-dev/holdfast/internal/objectstore"

// An operation is one of S3's.
type operation uint8

const (
	getObject operation = iota
	putObject
	deleteObject
	listObjects
	headBucket
	getLifecycle
	operations // their number
)

// String is the operation as the semantic conventions name it: service/method.
func (o operation) String() string {
	return [operations]string{"S3/GetObject", "S3/PutObject", "S3/DeleteObject", "S3/ListObjectsV2", "S3/HeadBucket", "S3/GetBucketLifecycleConfiguration"}[o]
}

// awsAPI is the RPC system that the semantic conventions for the AWS SDK give.
const awsAPI = "aws-api"

// durationBounds are those that the RPC conventions give, in seconds.
var durationBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// telemetry reports each request to the store: a client span, and
// rpc.client.call.duration by operation and outcome, which also counts them. A
// key, which holds a tenant's id, is on spans only.
type telemetry struct {
	tracer   trace.Tracer
	bucket   string
	duration rpcconv.ClientCallDuration
	retries  metric.Int64Counter
	corrupt  metric.Int64Counter
	observed metric.Registration

	// Made once: they are on every request's way.
	outcomes [operations][verdicts]attribute.Set
	methods  [operations]metric.MeasurementOption
}

func newTelemetry(tracers trace.TracerProvider, meters metric.MeterProvider, bucket string, l *limiter) (*telemetry, error) {
	meter := meters.Meter(instrumentation)
	t := &telemetry{tracer: tracers.Tracer(instrumentation), bucket: bucket}
	// The API documents errors for malformed names only, and returns a working
	// instrument with them.
	t.duration, _ = rpcconv.NewClientCallDuration(meter, metric.WithExplicitBucketBoundaries(durationBounds...))
	t.retries, _ = meter.Int64Counter("holdfast.bodies.retries", metric.WithUnit("{request}"),
		metric.WithDescription("Requests to the object store that were made once more."))
	t.corrupt, _ = meter.Int64Counter("holdfast.bodies.corrupt", metric.WithUnit("{object}"),
		metric.WithDescription("Objects that were found to hold something else than was stored at their key."))
	limit, _ := meter.Int64ObservableGauge("holdfast.bodies.concurrency.limit", metric.WithUnit("{request}"),
		metric.WithDescription("How many requests to the object store may be under way at present."))
	used, _ := meter.Int64ObservableGauge("holdfast.bodies.concurrency.used", metric.WithUnit("{request}"),
		metric.WithDescription("How many are."))
	for op := range operations {
		system, method := semconv.RPCSystemNameKey.String(awsAPI), semconv.RPCMethod(op.String())
		t.methods[op] = metric.WithAttributeSet(attribute.NewSet(method))
		t.outcomes[op][done] = attribute.NewSet(system, method)
		for v := done + 1; v < verdicts; v++ {
			t.outcomes[op][v] = attribute.NewSet(system, method, semconv.ErrorTypeKey.String(v.String()))
		}
	}
	// From the beginning, so that the first one is seen to have happened.
	t.corrupt.Add(context.Background(), 0)
	for op := range operations {
		t.retries.Add(context.Background(), 0, t.methods[op])
	}
	var err error
	t.observed, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		most, held := l.state()
		o.ObserveInt64(limit, int64(most))
		o.ObserveInt64(used, int64(held))
		return nil
	}, limit, used)
	return t, err
}

func (t *telemetry) close() error { return t.observed.Unregister() }

func (t *telemetry) retried(ctx context.Context, op operation) { t.retries.Add(ctx, 1, t.methods[op]) }

func (t *telemetry) corrupted(ctx context.Context) { t.corrupt.Add(ctx, 1) }

// call is one request under way.
type call struct {
	telemetry *telemetry
	ctx       context.Context
	span      trace.Span
	op        operation
	begun     time.Time
}

func (t *telemetry) begin(ctx context.Context, op operation, key string) call {
	c := call{telemetry: t, op: op, begun: time.Now()}
	c.ctx, c.span = t.tracer.Start(ctx, op.String(), trace.WithSpanKind(trace.SpanKindClient))
	if c.span.IsRecording() {
		c.span.SetAttributes(semconv.RPCSystemNameKey.String(awsAPI), semconv.RPCMethod(op.String()), semconv.AWSS3Bucket(t.bucket))
		if key != "" {
			c.span.SetAttributes(semconv.AWSS3Key(key))
		}
	}
	return c
}

func (c call) end(o outcome) {
	c.telemetry.duration.RecordSet(c.ctx, time.Since(c.begun).Seconds(), c.telemetry.outcomes[c.op][o.verdict])
	if c.span.IsRecording() {
		if o.status != 0 {
			c.span.SetAttributes(semconv.HTTPResponseStatusCode(o.status))
		}
		if o.verdict != done {
			c.span.SetAttributes(semconv.ErrorTypeKey.String(o.verdict.String()))
			c.span.SetStatus(codes.Error, "")
		}
	}
	c.span.End()
}
