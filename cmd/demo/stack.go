package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

// stack is Holdfast's servers, on databases that the environment names.
type stack struct {
	api      *launch.Process
	worker   *launch.Process
	log      *os.File // of both
	settings []string // over the environment's

	// What the story made.

	operator     *holdfast.ClientWithResponses
	acme, globex *tenant
	ada, bob     holdfast.ID // accounts of acme's
	television   holdfast.ID // a device of Ada's
}

// startStack makes the schema and starts both servers, the API at address. It
// takes log over, and closes it in the end.
func startStack(ctx context.Context, n *narrator, log *os.File, address string, settings ...string) (s *stack, err error) {
	s = &stack{log: log, settings: settings}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if os.Getenv("HOLDFAST_CONTROL_URL") == "" {
		return s, errors.New("no databases are configured: run make demo")
	}
	if address, err = ownPort(address); err != nil {
		return s, err
	}
	s.settings = append(s.settings, "HOLDFAST_API_ADDRESS="+address)
	n.chapter("Set-up")
	if err := n.step("the schema is made in the control database and in each data database", func() error {
		_, err := operate(ctx, "schema", "up")
		return err
	}); err != nil {
		return s, err
	}
	if err := n.step("the API serves", func() error { return s.startAPI(ctx) }); err != nil {
		return s, err
	}
	if s.operator, err = s.connect(os.Getenv("HOLDFAST_OPERATOR_KEY")); err != nil {
		return s, err
	}
	err = n.step("the worker runs its sweeps", func() (err error) {
		s.worker, err = launch.Start(ctx, []string{"worker"}, s.settings, s.log)
		return err
	})
	n.note("the numbers are placed so: %s", os.Getenv("HOLDFAST_PLACEMENT"))
	return s, err
}

// ownPort is the address with a port that is free, if it leaves the choice. It is
// made before the API starts, whose tokens and metadata name its address.
func ownPort(address string) (string, error) {
	if !strings.HasSuffix(address, ":0") {
		return address, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// operate runs the operator's command line, as an operator would, and gives what
// it prints.
func operate(ctx context.Context, args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	output, err := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "holdfast"), args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("holdfast %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return string(output), nil
}

// startAPI starts the API, always at the same address.
func (s *stack) startAPI(ctx context.Context) (err error) {
	s.api, err = launch.Start(ctx, []string{"api"}, s.settings, s.log)
	return err
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
