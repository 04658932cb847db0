// Command api serves the API. It reads its configuration from the environment,
// says on standard output where it listens once it is ready, and drains on
// SIGTERM or an interrupt.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent is GOGC unless the environment sets that. What lives is a few tens
// of megabytes however busy the process is, so the usual 100 would collect many
// times a second to save memory that nobody misses.
const gcPercent = 800

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Environ(), os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}
