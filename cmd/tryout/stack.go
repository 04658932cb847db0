package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

// stack is Holdfast's servers on the databases that the environment names, and a tenant
// of theirs with all that the examples take as given.
type stack struct {
	processes []*launch.Process
	log       *os.File

	url          string
	key          string // of a principal that may do all that a tenant's may
	world        string
	publicClient string // a device's
	tenant       *holdfast.ClientWithResponses
}

func start(ctx context.Context) (s *stack, err error) {
	if os.Getenv("HOLDFAST_CONTROL_URL") == "" {
		return nil, errors.New("no databases are configured: run make clients")
	}
	s = &stack{world: "north-7"}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	if s.log, err = os.CreateTemp("", "holdfast-tryout-*.log"); err != nil {
		return s, err
	}
	os.Remove(s.log.Name()) // nobody is told its name, and so it goes however this ends
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	if output, err := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "holdfast"), "schema", "up").CombinedOutput(); err != nil {
		return s, fmt.Errorf("holdfast schema up: %w\n%s", err, output)
	}
	address, err := freeAddress()
	if err != nil {
		return s, err
	}
	settings := []string{"HOLDFAST_API_ADDRESS=" + address, "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0"}
	for _, program := range []string{"api", "worker"} {
		process, err := launch.Start(ctx, []string{program}, settings, s.log)
		if err != nil {
			return s, err
		}
		s.processes = append(s.processes, process)
	}
	s.url = "http://" + address
	return s, s.makeTenant(ctx)
}

// freeAddress is one of the loopback interface. It is known before the API starts, whose
// tokens name it.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// makeTenant does what an operator does for a new tenant, and what an administrator of
// the tenant's does then.
func (s *stack) makeTenant(ctx context.Context) error {
	operator, err := holdfast.Connect(s.url, os.Getenv("HOLDFAST_OPERATOR_KEY"))
	if err != nil {
		return err
	}
	tenant, err := operator.CreateTenantWithResponse(ctx, nil, holdfast.NewTenant{Name: "acme"})
	if err != nil {
		return err
	}
	principal, err := operator.CreatePrincipalWithResponse(ctx, tenant.JSON201.ID, nil, holdfast.NewPrincipal{Name: "backend", Scopes: holdfast.Scopes{
		"identity:read", "identity:write", "lease:admin", "lease:append", "lease:hold", "lease:read", "record:read", "record:write",
	}})
	if err != nil {
		return err
	}
	key, err := operator.CreateAPIKeyWithResponse(ctx, tenant.JSON201.ID, principal.JSON201.ID, nil, holdfast.NewAPIKey{})
	if err != nil {
		return err
	}
	public, err := operator.CreateClientWithResponse(ctx, tenant.JSON201.ID, nil, holdfast.NewPublicClient{Name: "tv-app", VerificationURI: "https://acme.example/device"})
	if err != nil {
		return err
	}
	s.key, s.publicClient = string(key.JSON201.APIKey), public.JSON201.ID
	if s.tenant, err = holdfast.Connect(s.url, s.key); err != nil {
		return err
	}
	_, err = s.tenant.CreateWorldWithResponse(ctx, holdfast.NewWorld{WorldID: s.world})
	return err
}

// stop ends what runs.
func (s *stack) stop() {
	for _, process := range s.processes {
		process.Kill()
	}
	if s.log != nil {
		s.log.Close()
	}
}
