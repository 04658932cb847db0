// Package postgres runs a real PostgreSQL server for one stack: on loopback, on
// a free port, with passwords, as a user that isn't root.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/devstack/internal/process"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second

	// startAttempts bounds how often a port that was free is taken by another
	// before the server gets it.
	startAttempts = 5
)

// Config says what server to run.
type Config struct {
	Binaries Binaries
	Account  Account
	Folder   string // for the data and the log; the account can pass through it
	Password string // the superuser's
	Durable  bool   // a commit survives a power cut; false is for tests
	Kept     bool   // the data outlives the stack
}

func (c Config) data() string { return filepath.Join(c.Folder, "data") }
func (c Config) log() string  { return filepath.Join(c.Folder, "postgres.log") }

// stopSignal asks the server to stop: with everything written out when the
// data is kept, and at once when it isn't. Neither waits for clients.
func (c Config) stopSignal() syscall.Signal {
	if c.Kept {
		return syscall.SIGINT
	}
	return syscall.SIGQUIT
}

// Server is a running server.
type Server struct {
	config  Config
	port    int
	process *process.Child
}

// Start makes the cluster when there is none, starts the server, and returns
// when it takes connections.
func Start(ctx context.Context, keeper *process.Keeper, c Config) (*Server, error) {
	if err := c.prepare(); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := c.launch(keeper)
		if err != nil {
			return nil, err
		}
		err = s.awaitReady(ctx)
		if err == nil {
			return s, nil
		}
		err = errors.Join(err, s.Stop())
		if attempt == startAttempts || !strings.Contains(err.Error(), "Address already in use") {
			return nil, err
		}
	}
}

// launch starts the server's process on a port that was free a moment ago.
func (c Config) launch(keeper *process.Keeper) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(c.log())
	if err != nil {
		return nil, err
	}
	defer log.Close()

	args := []string{"-D", c.data()}
	for _, setting := range c.settings(port) {
		args = append(args, "-c", setting)
	}
	cmd := c.Account.command("/", c.Binaries.program("postgres"), args...)
	cmd.Stdout, cmd.Stderr = log, log
	child, err := keeper.Start(cmd, c.stopSignal())
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return &Server{config: c, port: port, process: child}, nil
}

// settings are the server's settings that differ from its defaults.
func (c Config) settings(port int) []string {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=", // a folder's path may be too long for one
		"max_connections=400",
		"shared_buffers=256MB",
		"password_encryption=scram-sha-256",
		"wal_level=logical", // as a hosted server has it, so that numbers can move to another
		"timezone=UTC",
		"log_timezone=UTC",
	}
	if !c.Durable {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	return settings
}

// awaitReady returns when the server answers.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.Ended():
			return fmt.Errorf("postgres ended at its start: %s", s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("postgres doesn't answer: %w: %w: %s", context.Cause(ctx), err, s.logTail())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.AdminURL())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// Ended is closed when the server has ended, asked or not.
func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// URL is a database's address, without a user.
func (s *Server) URL(database string) string { return s.url(nil, database) }

// AdminURL is the address of the superuser's own database, with the password.
func (s *Server) AdminURL() string {
	return s.url(url.UserPassword(Superuser, s.config.Password), "postgres")
}

func (s *Server) url(user *url.Userinfo, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     user,
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Stop stops the server and returns when it has ended.
func (s *Server) Stop() error {
	s.process.Signal(s.config.stopSignal())
	select {
	case <-s.process.Ended():
		return nil
	case <-time.After(stopTimeout):
	}
	s.process.KillGroup()
	<-s.process.Ended()
	return fmt.Errorf("postgres didn't stop in %v and was killed: %s", stopTimeout, s.logTail())
}

// logTail is the end of the server's log.
func (s *Server) logTail() string {
	const length = 2048
	text, err := os.ReadFile(s.config.log())
	if err != nil {
		return err.Error()
	}
	if len(text) > length {
		text = text[len(text)-length:]
	}
	return strings.TrimSpace(string(text))
}

// freePort is a port of the loopback address that nobody listens on now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
