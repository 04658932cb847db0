package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/mattn/go-isatty"
	"go.opentelemetry.io/otel/trace"
)

// NewLogger writes JSON, or text when out is a terminal. Each line carries the
// ids of ctx's trace and what With put into ctx; what may be personal data is
// replaced by "[redacted]".
func NewLogger(out io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	var inner slog.Handler = slog.NewJSONHandler(out, options)
	if file, ok := out.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		inner = slog.NewTextHandler(out, options)
	}
	return slog.New(handler{inner: inner})
}

type attrsKey struct{}

// With returns a context whose log lines carry attrs too: the request's id, the
// tenant's, the job's. They stand at the top of a line whatever groups the
// logger has.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	return context.WithValue(ctx, attrsKey{}, append(slices.Clip(attrsOf(ctx)), attrs...))
}

func attrsOf(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return attrs
}

// handler adds what the context knows. It spells a group as a prefix of its
// keys ("queue.name"), so that the context's own keys stay at the top.
type handler struct {
	inner  slog.Handler
	prefix string
}

func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, record slog.Record) error {
	out := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		out.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	out.AddAttrs(attrsOf(ctx)...)
	record.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(h.prefixed(a))
		return true
	})
	return h.inner.Handle(ctx, out)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	prefixed := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		prefixed[i] = h.prefixed(a)
	}
	return handler{inner: h.inner.WithAttrs(prefixed), prefix: h.prefix}
}

func (h handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return handler{inner: h.inner, prefix: h.prefix + name + "."}
}

func (h handler) prefixed(a slog.Attr) slog.Attr {
	if a.Key == "" { // an inline group, or nothing
		return a
	}
	return slog.Attr{Key: h.prefix + a.Key, Value: a.Value}
}
