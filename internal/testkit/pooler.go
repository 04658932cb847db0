package testkit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Pooled is an installation whose roles connect through a real pgbouncer in
// transaction mode. The superuser doesn't, and so sees what the pooler does.
type Pooled struct {
	*Installation
	address string // of the pooler
}

// Pooled puts a pgbouncer in front of the installation's databases, until the
// test ends. To each database it has at most size connections for each role.
func (in *Installation) Pooled(t testing.TB, size int) *Pooled {
	t.Helper()
	program, err := findPooler("pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer")
	if err != nil {
		t.Fatal(err)
	}
	const attempts = 5 // at a port that was free, before somebody else gets it
	for attempt := 1; ; attempt++ {
		address, err := freeAddress()
		if err != nil {
			t.Fatal(err)
		}
		err = startPooler(t, program, in.poolerFiles(t, address, size))
		if err == nil {
			return &Pooled{in, address}
		}
		if attempt == attempts || !strings.Contains(err.Error(), "Address already in use") {
			t.Fatal(err)
		}
	}
}

// findPooler gives the first of the programs that is there. Packages put it where
// not everybody's PATH leads.
func findPooler(names ...string) (string, error) {
	for _, name := range names {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", errors.New("no pgbouncer on this machine: apt-get install pgbouncer brings it")
}

// The file that docs/pooler.md shows, with a test's addresses and sizes.
const poolerSettings = `
[databases]
* = host=%[1]s port=%[2]s

[pgbouncer]
listen_addr = %[3]s
listen_port = %[4]s
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %[5]s
pool_mode = transaction
default_pool_size = %[6]d
max_client_conn = 500
server_reset_query =
`

// poolerFiles writes the pooler's configuration, and the passwords that it
// checks clients' with and shows to the server, and gives the first one's path.
func (in *Installation) poolerFiles(t testing.TB, address string, size int) string {
	t.Helper()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var users strings.Builder
	for _, role := range []string{postgres.RoleOwner, postgres.RoleAPI, postgres.RoleWorker} {
		fmt.Fprintf(&users, "%q %q\n", role, in.server.password(role))
	}
	passwords := write("userlist.txt", users.String())
	host, port, _ := net.SplitHostPort(address)
	server := in.server.admin
	return write("pgbouncer.ini", fmt.Sprintf(poolerSettings, server.Hostname(), server.Port(), host, port, passwords, size))
}

// startPooler returns when the pooler takes connections. It ends with the test,
// and also when the test's process is killed: the shell that began it sees the
// end of its input then.
func startPooler(t testing.TB, program, settings string) error {
	t.Helper()
	args := []string{"-c", `"$@" </dev/null & exec 2>/dev/null; read -r _; kill "$!"; wait`, "sh", program}
	if os.Geteuid() == 0 { // it refuses to run as root, once it has read its files
		args = append(args, "-u", "nobody")
	}
	cmd := exec.Command("/bin/sh", append(args, settings)...)
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var log strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		if strings.Contains(lines.Text(), " LOG process up") {
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				io.Copy(io.Discard, said)
			}()
			t.Cleanup(func() { input.Close(); <-drained; cmd.Wait() })
			return nil
		}
	}
	input.Close()
	cmd.Wait()
	return fmt.Errorf("pgbouncer ended at its start:\n%s", &log)
}

// freeAddress is a port of the loopback address that nobody listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Settings connect as one of the fixed roles, through the pooler.
func (in *Pooled) Settings(role string) postgres.Settings {
	s := in.Installation.Settings(role)
	s.Pooler = true
	s.Control = at(in.address, s.Control)
	for i, location := range s.Data {
		s.Data[i].URL = at(in.address, location.URL)
	}
	return s
}

// Router connects as one of the fixed roles, through the pooler, until the test
// ends.
func (in *Pooled) Router(t testing.TB, role string) *postgres.Router {
	t.Helper()
	return openRouter(t, in.Settings(role))
}
