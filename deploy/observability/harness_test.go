package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// installation is an API and a worker, in processes of their own, on the stack that
// the environment names (devstack), and a collector that their traces go to.
type installation struct {
	api, worker *process
	astray      *process // an API whose bucket isn't there
	url         string   // the API's
	operatorKey string
	collector   *collector
}

// install makes the schema and starts both, which end with the test.
func install(t *testing.T) *installation {
	t.Helper()
	in := &installation{operatorKey: os.Getenv("HOLDFAST_OPERATOR_KEY"), collector: newCollector(t)}
	if in.operatorKey == "" {
		t.Fatal("HOLDFAST_OPERATOR_KEY is not set: run make test")
	}
	programs := build(t)
	if output, err := exec.Command(filepath.Join(programs, "holdfast"), "schema", "up").CombinedOutput(); err != nil {
		t.Fatalf("schema up: %v\n%s", err, output)
	}
	environ := append(os.Environ(),
		"HOLDFAST_API_ADDRESS=127.0.0.1:0",
		"HOLDFAST_ISSUER=https://id.example",
		"HOLDFAST_METRICS_ADDRESS=127.0.0.1:0",
		"HOLDFAST_LOG_LEVEL=debug",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+in.collector.url,
		"OTEL_BSP_SCHEDULE_DELAY=200", // milliseconds
	)
	in.astray = start(t, filepath.Join(programs, "api"), append(environ, "HOLDFAST_BODIES_BUCKET=nobodys"))
	in.worker = start(t, filepath.Join(programs, "worker"), environ)
	in.api = start(t, filepath.Join(programs, "api"), environ)
	in.url = "http://" + strings.TrimPrefix(in.api.ready, "The API listens on http://")
	return in
}

// build builds the programs from the sources that stand above this module, which
// shares none of them.
func build(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	command := exec.Command("go", "build", "-o", folder+"/", "./cmd/api", "./cmd/worker", "./cmd/holdfast")
	command.Dir = "../.."
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return folder
}

// process is one of the two.
type process struct {
	command *exec.Cmd
	ready   string // the line that it wrote once it was
	log     buffer
}

func start(t *testing.T, program string, environ []string) *process {
	t.Helper()
	p := &process{command: exec.Command(program)}
	p.command.Env = environ
	p.command.Stderr = &p.log
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.command.Process.Kill()
		p.command.Wait()
	})
	if p.ready, err = bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, p.log.String())
	}
	p.ready = strings.TrimSpace(p.ready)
	return p
}

// stop ends the process as its supervisor would, which sends its last spans.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, p.log.String())
	}
}

// metrics is what the private port tells, whose address the log does.
func (p *process) metrics(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(p.log.String()) {
		var said struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Address != "" {
			return get(t, "http://"+said.Address+"/metrics")
		}
	}
	t.Fatalf("the log names no private port:\n%s", p.log.String())
	return ""
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d: %v", url, response.StatusCode, err)
	}
	return string(text)
}

// buffer is a log that is read while it grows.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// eventually looks until a condition holds, or fails the test.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal(fmt.Sprint("waited in vain: ", what))
		}
	}
}
