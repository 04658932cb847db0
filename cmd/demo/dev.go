package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

// dev leaves everything running until it is interrupted, or until one of the
// servers ends by itself, which is an error.
func dev(ctx context.Context) error {
	log, err := os.CreateTemp("", "holdfast-demo-*.log")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	n := &narrator{out: os.Stdout}
	s, err := startStack(ctx, n, log, os.Getenv("HOLDFAST_API_ADDRESS"))
	if err != nil {
		return hint(err)
	}
	defer s.stop()
	acme, app, err := s.keptTenant(ctx, n)
	if err != nil {
		return hint(err)
	}
	s.acme = acme
	if err := s.printCalls(os.Stdout, app.ID); err != nil {
		return err
	}
	return s.serve(ctx)
}

// serve waits for the interrupt and stops both servers as a roll would. If one
// ends before that, it stops the other and tells.
func (s *stack) serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.api.Done():
	case <-s.worker.Done():
	}
	if ctx.Err() != nil {
		fmt.Println("\nStopping.")
		return errors.Join(interrupted(s.api), interrupted(s.worker))
	}
	select {
	case <-s.api.Done():
		s.worker.Stop()
		return fmt.Errorf("the API ended by itself: %w", s.api.End())
	default:
		s.api.Stop()
		return fmt.Errorf("the worker ended by itself: %w", s.worker.End())
	}
}

// interrupted ends a server. A terminal, or whoever runs this, interrupts the
// whole group of processes, so it waits a while for the server to end by that: a
// second signal would cut a draining worker short.
func interrupted(server *launch.Process) error {
	select {
	case <-server.Done():
		return server.Err()
	case <-time.After(3 * time.Second):
		return server.Stop()
	}
}

// hint adds what to do about an error, where that is known.
func hint(err error) error {
	switch {
	case holdfast.IsCode(err, "invalid_client"):
		return fmt.Errorf("%w\nThe key in HOLDFAST_OPERATOR_KEY is refused: it was revoked, or its operator was disabled. "+
			"Removing .holdfast/dev, with all data in it, starts afresh", err)
	case strings.Contains(err.Error(), "address already in use"): // a server's last lines
		return fmt.Errorf("%w\nAn address is taken: HOLDFAST_API_ADDRESS (127.0.0.1:8080) or HOLDFAST_METRICS_ADDRESS "+
			"(127.0.0.1:9090, the worker's 127.0.0.1:9091). Set another; with 127.0.0.1:0 a free port is taken", err)
	}
	return err
}
