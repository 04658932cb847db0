package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// issuer is what each API of a test names as its own, wherever it listens.
const issuer = "https://id.example"

// runAsAPI makes this test binary the API, so that a test can kill it.
const runAsAPI = "HOLDFAST_TEST_RUN_AS_API"

func TestMain(m *testing.M) {
	if os.Getenv(runAsAPI) != "" {
		main()
		return
	}
	if os.Getenv(runAsSweeper) != "" {
		sweepOnDemand(os.Environ(), os.Stdin, os.Stderr)
		return
	}
	os.Exit(m.Run())
}

// stack is a database installation of the test's own, and what the API needs to
// serve it.
type stack struct {
	installation *testkit.Installation
	operatorKey  string // of the operator "first"
	secondKey    string // of the operator "second", whom nobody made either
	env          map[string]string
	fetch        tenancy.FetchSettings // of the APIs in this process
}

func newStack(t testing.TB, databases int) *stack {
	t.Helper()
	installation := testkit.Databases(t, databases)
	return stackOn(installation, installation.Settings(postgres.RoleAPI))
}

// stackOn is a stack whose API connects as the settings say: straight to the
// installation, or by way of something in front of it.
func stackOn(installation *testkit.Installation, settings postgres.Settings) *stack {
	var urls []string
	numbers := map[string][]domain.Number{}
	for n, name := range settings.Placement {
		numbers[name] = append(numbers[name], domain.Number(n))
	}
	var placement []string
	for _, location := range settings.Data {
		urls = append(urls, location.Name+"="+location.URL)
		if placed := numbers[location.Name]; len(placed) > 0 {
			placement = append(placement, location.Name+"="+ranges(placed))
		}
	}
	key, second := tenancy.GenerateKey(time.Now()), tenancy.GenerateKey(time.Now())
	serverKey := make([]byte, 32)
	rand.Read(serverKey)
	return &stack{installation: installation, operatorKey: key, secondKey: second, env: map[string]string{
		"HOLDFAST_ENVIRONMENT":         "development",
		"HOLDFAST_CONTROL_URL":         settings.Control,
		"HOLDFAST_DATA_URLS":           strings.Join(urls, " "),
		"HOLDFAST_PLACEMENT":           strings.Join(placement, " "),
		"HOLDFAST_API_PASSWORD":        settings.Password,
		"HOLDFAST_SERVER_KEYS":         "k1:" + hex.EncodeToString(serverKey),
		"HOLDFAST_OPERATOR_KEY":        key,
		"HOLDFAST_SECOND_OPERATOR_KEY": second,
		"HOLDFAST_API_ADDRESS":         "127.0.0.1:0",
		"HOLDFAST_ISSUER":              issuer,
		"HOLDFAST_METRICS_ADDRESS":     "127.0.0.1:0",
		"HOLDFAST_POOL_SIZE":           "4",
	}}
}

// ranges spells numbers as HOLDFAST_PLACEMENT does.
func ranges(numbers []domain.Number) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ",")
}

// environ is the stack's environment with changes, each NAME=VALUE.
func (s *stack) environ(changes ...string) []string {
	env := maps.Clone(s.env)
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		env[name] = value
	}
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		entries = append(entries, name+"="+env[name])
	}
	return entries
}

// running is an API that serves, in this process or in one of its own.
type running struct {
	url  string
	log  *lockedBuffer
	stop func() error // asks it to end, and waits

	// of a process of its own; nil in this one
	kill   func()          // ends it at once
	signal func(os.Signal) // to one that has not ended
}

// serve runs the API in this process until the test ends.
func (s *stack) serve(t testing.TB, changes ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stdout, printed := io.Pipe()
	r := &running{log: &lockedBuffer{}}
	done := make(chan error, 1)
	go func() {
		err := run(ctx, s.environ(changes...), s.fetch, printed, r.log)
		printed.CloseWithError(io.EOF)
		done <- err
	}()
	r.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := r.stop(); err != nil && !t.Failed() {
			t.Errorf("the API ended with %v\n%s", err, r.log)
		}
	})
	var err error
	if r.url, err = readyURL(stdout, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// spawn runs the API as a process of its own until the test ends.
func (s *stack) spawn(t testing.TB, changes ...string) *running {
	t.Helper()
	r, err := s.launch(t, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// launch is spawn for any of the test's goroutines.
func (s *stack) launch(t testing.TB, changes ...string) (*running, error) {
	r := &running{log: &lockedBuffer{}}
	cmd := s.command(r, changes...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	wait := sync.OnceValue(cmd.Wait)
	r.stop = func() error { cmd.Process.Signal(os.Interrupt); return wait() }
	r.kill = func() { cmd.Process.Kill(); wait() }
	r.signal = func(signal os.Signal) { cmd.Process.Signal(signal) }
	t.Cleanup(r.kill)
	r.url, err = readyURL(stdout, r)
	return r, err
}

// command is the API as a process that has not begun.
func (s *stack) command(r *running, changes ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(s.environ(changes...), runAsAPI+"=1")
	cmd.Stderr = r.log
	return cmd
}

func readyURL(stdout io.Reader, r *running) (string, error) {
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "listens on ")
	if !found {
		return "", fmt.Errorf("it said %q and ended with %v\n%s", line, r.stop(), r.log)
	}
	return url, nil
}

// privateAddress is where the private port listens, as the log tells.
func (r *running) privateAddress(t testing.TB) string {
	t.Helper()
	for line := range strings.Lines(r.log.String()) {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "the private port listens" {
			return entry.Address
		}
	}
	t.Fatalf("the log doesn't tell:\n%s", r.log)
	return ""
}

// operator is a client with the first operator's key.
func (s *stack) operator(t testing.TB, r *running) *holdfast.ClientWithResponses {
	t.Helper()
	return connect(t, r, s.operatorKey)
}

func connect(t testing.TB, r *running, key string, options ...holdfast.Option) *holdfast.ClientWithResponses {
	t.Helper()
	client, err := holdfast.Connect(r.url, key, options...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// customer is a tenant with a principal and its key.
type customer struct {
	id        string
	principal string
	key       string
}

// tenant makes a tenant, and a principal with the scopes ("identity:read
// identity:write" without any).
func (s *stack) tenant(t testing.TB, r *running, name string, scopes ...string) customer {
	t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"identity:read", "identity:write"}
	}
	operator := s.operator(t, r)
	made, err := operator.CreateTenantWithResponse(t.Context(), nil, holdfast.NewTenant{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s.customerOf(t, r, made.JSON201.ID, scopes...)
}

// customerOf makes a principal of a tenant that is there.
func (s *stack) customerOf(t testing.TB, r *running, tenant string, scopes ...string) customer {
	t.Helper()
	operator := s.operator(t, r)
	principal, err := operator.CreatePrincipalWithResponse(t.Context(), tenant, nil, holdfast.NewPrincipal{Name: "app", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	key, err := operator.CreateAPIKeyWithResponse(t.Context(), tenant, principal.JSON201.ID, nil, holdfast.NewAPIKey{})
	if err != nil {
		t.Fatal(err)
	}
	return customer{id: tenant, principal: principal.JSON201.ID, key: key.JSON201.APIKey}
}

// lockedBuffer is a log that a test may read while it grows.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// eventually waits until a condition holds, or fails the test.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pointerOf is where err says that the request is wrong.
func pointerOf(err error) string {
	var e *holdfast.Error
	if !errors.As(err, &e) || e.Errors == nil || len(*e.Errors) != 1 {
		return ""
	}
	return (*e.Errors)[0].Pointer
}
