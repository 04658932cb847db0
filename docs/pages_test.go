// Package docs is the operations guide. Its test types what the guide says.
package docs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// within bounds a page.
const within = 3 * time.Minute

// TestPages_WhatTheySayToTypeWorks runs each page's blocks that are marked "sh", in
// their order, as one script, on a stack of the page's own: two data databases, a
// bucket, an API and a worker, and the first two operators' keys.
func TestPages_WhatTheySayToTypeWorks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range pages {
		script := scriptOf(t, page)
		if script == "" {
			continue
		}
		t.Run(page, func(t *testing.T) {
			environ := newStack(t)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			bash := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-x", "-c", script)
			bash.Dir = ".."
			bash.Env = append(environ, "TMPDIR="+t.TempDir())
			bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			bash.Cancel = func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
			if output, err := bash.CombinedOutput(); err != nil {
				t.Errorf("%s: %v; it ended with\n%s", page, err, lastLines(output, 40))
			}
		})
	}
}

var (
	block = regexp.MustCompile("(?ms)^```(\\S*)\n(.*?)^```$")
	// known are what a block may be marked as: run here; with a cloud account that
	// isn't here; shown; or of a file.
	known = map[string]bool{"sh": true, "console": true, "text": true, "sql": true, "json": true, "yaml": true, "ini": true, "hcl": true, "go": true, "ts": true}
)

// scriptOf gives what a page says to type.
func scriptOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, found := range block.FindAllSubmatch(text, -1) {
		kind, body := string(found[1]), found[2]
		if !known[kind] {
			t.Errorf("%s: a block is marked %q, so nobody knows whether it was run", page, kind)
		}
		if kind == "sh" {
			script.Write(body)
		}
	}
	return script.String()
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Join(lines[max(len(lines)-n, 0):], []byte("\n"))
}

// programs is the folder of the programs that the guide names.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "holdfast-guide-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		build := exec.Command("go", "build", "-o", folder, "./cmd/api", "./cmd/worker", "./cmd/holdfast")
		build.Dir = ".."
		if output, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, output)
			return 1
		}
		programs = folder
		return m.Run()
	}())
}

// newStack runs an API and a worker until the test ends, and gives the environment
// in which an operator works beside them.
func newStack(t *testing.T) []string {
	t.Helper()
	bodies := testkit.OwnBucket(t)
	serverKey := make([]byte, 32)
	rand.Read(serverKey)
	operator := tenancy.GenerateKey(time.Now())
	environ := append(os.Environ(), testkit.Databases(t, 2).Environ()...)
	environ = append(environ,
		"PATH="+strings.Join([]string{programs, postgresPrograms(), os.Getenv("PATH")}, string(os.PathListSeparator)),
		"HOLDFAST_BODIES_ENDPOINT="+bodies.Endpoint, "HOLDFAST_BODIES_BUCKET="+bodies.Bucket,
		"AWS_REGION="+bodies.Region, "AWS_ACCESS_KEY_ID="+bodies.AccessKey, "AWS_SECRET_ACCESS_KEY="+bodies.SecretKey,
		"HOLDFAST_SERVER_KEYS=k1:"+hex.EncodeToString(serverKey),
		"HOLDFAST_OPERATOR_KEY="+operator, "HOLDFAST_API_KEY="+operator,
		"HOLDFAST_SECOND_OPERATOR_KEY="+tenancy.GenerateKey(time.Now()),
		"HOLDFAST_API_ADDRESS=127.0.0.1:0", "HOLDFAST_ISSUER=https://id.example", "HOLDFAST_POOL_SIZE=4",
	)
	start(t, filepath.Join(programs, "worker"), append(environ, "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0"))
	environ = append(environ, "HOLDFAST_METRICS_ADDRESS="+freeAddress(t)) // the pages look at the API's
	line := start(t, filepath.Join(programs, "api"), environ)
	_, url, found := strings.Cut(line, "listens on ")
	if !found {
		t.Fatalf("the API said %q", line)
	}
	return append(environ, "HOLDFAST_URL="+url)
}

// freeAddress is one where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// postgresPrograms is where Debian keeps the newest PostgreSQL's, which are on
// nobody's path.
func postgresPrograms() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(folders) == 0 {
		return ""
	}
	return folders[len(folders)-1]
}

// start runs a program until the test ends, and gives the line that says that it is
// ready.
func start(t *testing.T, program string, environ []string) string {
	t.Helper()
	var log bytes.Buffer
	command := exec.Command(program)
	command.Env, command.Stderr = environ, &log
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil && !t.Failed() {
			t.Errorf("%s: %v; it ended with\n%s", filepath.Base(program), err, lastLines(log.Bytes(), 20))
		}
		if t.Failed() {
			fmt.Fprintf(t.Output(), "%s said at last:\n%s\n", filepath.Base(program), lastLines(log.Bytes(), 20))
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = command.Process.Kill()
		t.Fatalf("%s: %v\n%s", filepath.Base(program), err, log.Bytes())
	}
	return strings.TrimSpace(line)
}
