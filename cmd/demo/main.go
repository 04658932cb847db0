// Command demo starts Holdfast on the databases it is given and drives it from
// end to end through the Go client, in plain words and with timings. It exits 0
// only if every answer was right. With the argument "dev" it leaves everything
// running and prints calls to paste.
//
// make demo and make dev run it on a stack of its own.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var err error
	switch {
	case len(os.Args) == 1:
		err = demo(ctx)
	case len(os.Args) == 2 && os.Args[1] == "dev":
		err = dev(ctx)
	case len(os.Args) == 2 && os.Args[1] == node:
		err = runNode(ctx)
	default:
		err = fmt.Errorf("usage: demo [dev]")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

// demo tells the whole story once.
func demo(ctx context.Context) error {
	n := &narrator{out: os.Stdout}
	log, err := os.CreateTemp("", "holdfast-demo-*.log")
	if err != nil {
		return err
	}
	os.Remove(log.Name()) // nobody is told its name, and so it goes however this ends
	s, err := startStack(ctx, n, log, "127.0.0.1:0", "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0")
	if err != nil {
		return err
	}
	defer s.stop()
	for _, chapter := range []func(context.Context, *stack, *narrator) error{
		meetTenants, makeAccounts, raceForAnEmail, changeAnEmail, letADeviceIn,
		interruptACreation, importADirectory, spillAWorld, keepRecords, moveBodies, lookFromOutside, readTheHistory, stopServing,
	} {
		if err := chapter(ctx, s, n); err != nil {
			return err
		}
	}
	n.end()
	return nil
}
