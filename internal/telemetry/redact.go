package telemetry

import (
	"errors"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// loggable lists the keys under which text may be logged. Whatever else is text
// may be a person's and is redacted; numbers, times and truth values pass. To
// add a key is to say that no handle, email, display name, code, token, body or
// address of a person will ever stand under it.
var loggable = map[string]bool{
	slog.TimeKey: true, slog.LevelKey: true, slog.MessageKey: true, slog.SourceKey: true,

	// Whose line it is.
	"trace_id": true, "span_id": true, "request_id": true, "tenant_id": true,
	"principal_id": true, "migration_id": true, "job_id": true, "client_id": true, "leader_id": true,

	// What went wrong. An error's own text is the domain's or a library's; see
	// errorText.
	"error": true, "err": true, "code": true, "panic": true, "panic_val": true, "stack": true,

	// The process and its settings.
	"service": true, "version": true, "build": true, "signal": true, "address": true,
	"database": true, "databases": true, "setting": true, "pooler": true, "protocol": true,

	// Where a body is: a tenant's id, a collection's, and a digest.
	"object_key": true,

	// Requests, by template and never by raw path.
	"method": true, "route": true, "operation": true, "scope": true,

	// The domain's own closed sets.
	"family": true, "partition": true, "purpose": true, "state": true, "outcome": true, "fault": true, "category": true,

	// Jobs and schedules.
	"kind": true, "kinds": true, "job_kind": true, "job_state": true, "event_kind": true, "schedule": true,
	"queue": true, "queues": true, "queue_in_message": true, "queues_deleted": true,
	"action": true, "topic": true, "index_name": true, "function_name": true, "sleep_duration": true,
}

// redact is the handlers' ReplaceAttr: it sees every attribute of every line.
func redact(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindDuration, slog.KindTime, slog.KindGroup:
		return a
	}
	if !loggable[a.Key[strings.LastIndexByte(a.Key, '.')+1:]] {
		return slog.String(a.Key, redacted)
	}
	if err, ok := a.Value.Any().(error); ok {
		return slog.String(a.Key, ErrorText(err))
	}
	return a
}

// ErrorText is an error's text without the values that it was about. A database
// quotes what it could not read in its data exceptions (SQLSTATE class 22), so
// of those only the state is told.
func ErrorText(err error) string {
	var server interface {
		error
		SQLState() string
	}
	text := err.Error()
	if errors.As(err, &server) && strings.HasPrefix(server.SQLState(), "22") {
		return strings.ReplaceAll(text, server.Error(), "SQLSTATE "+server.SQLState())
	}
	return text
}
