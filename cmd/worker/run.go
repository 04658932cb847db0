package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailed  = 1
	exitSetting = 2
)

// stopSlack is what stopping may take beyond the drain: River's last writes, the
// last spans.
const stopSlack = 10 * time.Second

// run is the process until ctx ends. It writes one line to stdout, when it is
// ready, and its log to output.
func run(ctx context.Context, environ []string, stdout, output io.Writer) int {
	settings, err := config.Load(config.Worker, environ)
	if err != nil {
		fmt.Fprintf(output, "worker: the configuration is wrong:\n%v\n", err)
		return exitSetting
	}
	tel, err := telemetry.Start(ctx, telemetry.Options{
		Service: "holdfast-worker", Version: telemetry.Build(), LogLevel: settings.LogLevel, Output: output,
	})
	if err != nil {
		fmt.Fprintf(output, "worker: the configuration is wrong:\n%v\n", err)
		return exitSetting
	}
	w, err := start(ctx, settings, tel)
	if err != nil {
		tel.Log.ErrorContext(ctx, "can't start", "error", err)
		return exitFailed
	}
	tel.Log.InfoContext(ctx, "ready", "build", telemetry.Build(), "databases", len(w.router.Databases()), "address", w.address())
	fmt.Fprintln(stdout, "The worker is ready")

	<-ctx.Done()
	tel.Log.InfoContext(ctx, "stopping")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.Drain+stopSlack)
	defer cancel()
	if err := w.stop(ctx); err != nil {
		tel.Log.ErrorContext(ctx, "didn't stop as it should", "error", err)
		return exitFailed
	}
	tel.Log.InfoContext(ctx, "stopped")
	return exitOK
}
