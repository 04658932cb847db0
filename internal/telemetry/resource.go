package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// newResource says who reports. The environment (OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES) goes before what the process says of itself.
func newResource(ctx context.Context, o Options) (*resource.Resource, error) {
	res, err := resource.New(ctx,
		resource.WithService(), // a random service.instance.id
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName(o.Service), semconv.ServiceVersion(o.Version)),
		resource.WithFromEnv(),
	)
	if errors.Is(err, resource.ErrPartialResource) || errors.Is(err, resource.ErrSchemaURLConflict) {
		return res, nil // usable, and less than it might be
	}
	return res, err
}
