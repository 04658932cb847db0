package testkit

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Apart gives the test an installation of n data databases on n PostgreSQL servers
// of the test's own, until it ends. The first server also has the control database,
// and the first data database all the numbers. The others are empty: the owner owns
// them, and nothing was done to them.
func Apart(t testing.TB, n int) *Installation {
	t.Helper()
	servers := make([]server, n)
	var starting errgroup.Group
	for i := range servers {
		starting.Go(func() (err error) { servers[i], err = startServer(t); return err })
	}
	if err := starting.Wait(); err != nil {
		t.Fatal(err)
	}
	first, err := servers[0].clone(t.Context(), 1)
	if err != nil {
		t.Fatalf("make the test's databases: %v", err)
	}
	first.elsewhere = map[string]server{}
	for i, s := range servers[1:] {
		name, err := s.createEmpty(t.Context(), i+2)
		if err != nil {
			t.Fatalf("make the test's databases: %v", err)
		}
		first.data = append(first.data, name)
		first.elsewhere[name] = s
	}
	return first
}

// startServer starts a PostgreSQL server beside the one that all tests share, by the
// program that has started that one. It ends when its standard input does, so also
// when this process dies.
func startServer(t testing.TB) (server, error) {
	program := os.Getenv("HOLDFAST_TEST_DEVSTACK")
	if program == "" {
		return server{}, fmt.Errorf("HOLDFAST_TEST_DEVSTACK is not set: run make test")
	}
	cmd := exec.Command(program, "run", "--databases", "1", "--durable=false", "--",
		"sh", "-c", `printf '%s\n' "$HOLDFAST_TEST_ADMIN_URL"; cat`)
	var said strings.Builder
	cmd.Stderr = &said
	hold, err := cmd.StdinPipe()
	if err != nil {
		return server{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return server{}, err
	}
	if err := cmd.Start(); err != nil {
		return server{}, err
	}
	t.Cleanup(func() {
		hold.Close()
		io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("end the test's server: %v: %s", err, &said)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return server{}, fmt.Errorf("start a server: %w", err)
	}
	admin, err := url.Parse(strings.TrimSpace(line))
	return server{admin}, err
}

// createEmpty makes the owner and a database of its own.
func (s server) createEmpty(ctx context.Context, n int) (name string, err error) {
	admin, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if err := (templates{server: s}).ensureOwner(ctx, admin); err != nil {
		return "", err
	}
	name = fmt.Sprintf("hf_%s_data%d", strings.ToLower(rand.Text()[:12]), n)
	_, err = admin.Exec(ctx, "CREATE DATABASE "+name+" OWNER "+pgx.Identifier{postgres.RoleOwner}.Sanitize())
	return name, err
}

// serverOf is the one that has a database.
func (in *Installation) serverOf(database string) server {
	if s, ok := in.elsewhere[database]; ok {
		return s
	}
	return in.server
}
