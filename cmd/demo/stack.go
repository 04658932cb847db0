package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

// stack is Holdfast's servers, on databases that the environment names.
type stack struct {
	api      *launch.Process
	worker   *launch.Process
	log      *os.File // of both
	settings []string // over the environment's, so that the API comes back where it was

	acme   *tenant // made by the story
	globex *tenant
}

// anyPort lets several stacks run on one machine.
var anyPort = []string{"HOLDFAST_API_ADDRESS=127.0.0.1:0", "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0"}

// startStack makes the schema and starts both servers. It takes log over, and
// closes it in the end.
func startStack(ctx context.Context, n *narrator, log *os.File, settings []string) (s *stack, err error) {
	s = &stack{log: log, settings: slices.Clone(settings)}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if os.Getenv("HOLDFAST_CONTROL_URL") == "" {
		return s, errors.New("no databases are configured: run make demo")
	}
	n.chapter("Set-up")
	if err := n.step("the schema is made in the control database and in each data database", func() error { return schemaUp(ctx) }); err != nil {
		return s, err
	}
	if err := n.step("the API serves", func() error { return s.startAPI(ctx) }); err != nil {
		return s, err
	}
	err = n.step("the worker runs its sweeps", func() (err error) {
		s.worker, err = launch.Start(ctx, []string{"worker"}, s.settings, s.log)
		return err
	})
	n.note("the numbers are placed so: %s", os.Getenv("HOLDFAST_PLACEMENT"))
	return s, err
}

// schemaUp runs the operator's command line, as an operator would.
func schemaUp(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "holdfast"), "schema", "up").CombinedOutput()
	if err != nil {
		return fmt.Errorf("holdfast schema up: %w\n%s", err, output)
	}
	return nil
}

// startAPI starts the API; after the first time, at the address it had.
func (s *stack) startAPI(ctx context.Context) (err error) {
	s.api, err = launch.Start(ctx, []string{"api"}, s.settings, s.log)
	if err != nil {
		return err
	}
	s.settings = append(s.settings, "HOLDFAST_API_ADDRESS="+s.api.Address)
	return nil
}

// stop ends what still runs.
func (s *stack) stop() {
	for _, p := range []*launch.Process{s.api, s.worker} {
		if p != nil {
			p.Kill()
		}
	}
	s.log.Close()
}

func (s *stack) url() string { return "http://" + s.api.Address }

// connect makes a client that says what the service said, without trying again.
func (s *stack) connect(key string) (*holdfast.ClientWithResponses, error) {
	return holdfast.Connect(s.url(), key, holdfast.WithAttempts(1))
}
