package config

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Process says who reads the configuration.
type Process string

const (
	API         Process = "api"
	Worker      Process = "worker"
	Schema      Process = "schema" // "holdfast schema …"
	Check       Process = "check"  // "holdfast identity check", "journal check" and "record check"
	CommandLine Process = "cli"    // the other commands of "holdfast", which call the API
)

// Environment says how much is asked of the configuration.
type Environment string

const (
	Development Environment = "development" // one machine: defaults for what must be given elsewhere
	Staging     Environment = "staging"
	Production  Environment = "production"
)

// Config is what a process read. What it doesn't read is zero.
type Config struct {
	Process     Process
	Environment Environment

	ControlURL string              // without a user
	DataURLs   []postgres.Location // likewise, at least one
	Placement  postgres.Placement
	PoolSize   int  // connections a database
	Pooler     bool // a transaction-mode pooler stands between

	OwnerPassword  Secret
	APIPassword    Secret
	WorkerPassword Secret

	Bodies Bodies // the object store; zero without one

	ServerKeys        []ServerKey // the first is current
	OperatorKey       Secret      // the first operator's API key; zero for none
	SecondOperatorKey Secret      // in development only

	APIAddress     string         // host:port
	Proxies        []netip.Prefix // of the proxies in front, that are believed whom they forward
	MetricsAddress string         // host:port; empty for none
	Issuer         string         // a URL without a trailing slash

	URL    string // the API's, as the command line calls it
	APIKey Secret // likewise

	Drain    time.Duration // how long requests or jobs under way may take to end
	LogLevel slog.Level
}

// Postgres is how the process connects: as its own role.
func (c Config) Postgres() postgres.Settings {
	s := postgres.Settings{
		Control:   c.ControlURL,
		Data:      c.DataURLs,
		Placement: c.Placement,
		PoolSize:  c.PoolSize,
		Pooler:    c.Pooler,
	}
	switch c.Process {
	case API, Check: // the only role that may list the tenants
		s.Role, s.Password = postgres.RoleAPI, c.APIPassword.Reveal()
	case Worker:
		s.Role, s.Password = postgres.RoleWorker, c.WorkerPassword.Reveal()
	case Schema:
		s.Role, s.Password = postgres.RoleOwner, c.OwnerPassword.Reveal()
	}
	return s
}
