// Command worker runs Holdfast's background work: it serves the schedules and
// works the jobs that they, and the API, ask for. Any number may run.
//
// It reads HOLDFAST_… and OTEL_… variables, and takes no argument but --version,
// which names its build. It checks the schema and never migrates it. On SIGTERM or
// an interrupt it ends the steps under way and stops; a second signal ends it at
// once, which is safe too.
//
// Exit codes: 0 after a signal; 1 when it couldn't start or stop as it should;
// 2 when the configuration or the command line is wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("worker", telemetry.Build())
		return
	}
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "worker: it takes no argument but --version; its configuration is in the environment")
		os.Exit(exitSetting)
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release) // a second signal finds the default again
	os.Exit(run(ctx, os.Environ(), os.Stdout, os.Stderr))
}
