// Package telemetry tells what a process does: traces, metrics and logs.
//
// Traces go where the standard environment variables say
// (OTEL_EXPORTER_OTLP_ENDPOINT and its relatives). Without an endpoint no span
// is recorded and a span costs next to nothing; an incoming trace still passes
// through.
//
// Metrics are OpenTelemetry's, read by Prometheus from the private port. Their
// names are those of the semantic conventions, spelled as Prometheus spells
// them: http.server.request.duration is http_server_request_duration_seconds.
// No metric carries a tenant.
//
// Logs are slog's: JSON, or text on a terminal, with the ids of the trace, the
// request, the tenant and the job that the context carries. They hold no
// personal data by construction: text passes only under the keys that are
// listed in loggable.
package telemetry
