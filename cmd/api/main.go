// Command api serves the API. It reads its configuration from the environment,
// says on standard output where it listens once it is ready, and drains on
// SIGTERM or an interrupt. It takes no argument but --version, which names its build.
//
// Exit codes: 0 after a signal; 1 when it couldn't start or stop as it should;
// 2 when the configuration or the command line is wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// gcPercent is GOGC, and memoryLimit GOMEMLIMIT in bytes, unless the environment
// sets these. What lives is a few tens of megabytes while bodies are small, so the
// usual 100 would collect many times a second to save memory that nobody misses.
// Large bodies are what the limit is for: a process holds up to
// record.DefaultMemory of them, and must not let eight times as much garbage lie.
const (
	gcPercent   = 800
	memoryLimit = 4 * record.DefaultMemory
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("api", telemetry.Build())
		return
	}
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "api: it takes no argument but --version; its configuration is in the environment")
		os.Exit(exitSetting)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Environ(), tenancy.FetchSettings{}, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(codeOf(err))
	}
}
