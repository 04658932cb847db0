package config

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"time"
)

// Bounds of what can be set, inclusive.
const (
	maxPoolSize     = 1000
	maxDrainSeconds = 300
)

// Load makes a process's configuration from an environment of NAME=VALUE
// entries. The error tells every problem, one a line.
func Load(process Process, environ []string) (Config, error) {
	variables, set, err := readVariables(process, environ)
	if err != nil {
		return Config{}, err
	}
	l := &loader{process: process, variables: variables, set: set}
	c := l.load()
	if len(l.problems) > 0 {
		return Config{}, errors.Join(l.problems...)
	}
	return c, nil
}

// loader makes values of words and gathers what is wrong with them.
type loader struct {
	process   Process
	variables variables
	set       map[string]bool
	problems  []error
}

// problem notes what is wrong with a variable. The text never repeats a value
// that may be a secret; a URL may be one.
func (l *loader) problem(name, format string, args ...any) {
	l.problems = append(l.problems, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
}

func (l *loader) load() Config {
	v := l.variables
	if l.process == CommandLine {
		return l.commandLine(v)
	}
	c := Config{Process: l.process, Environment: l.environment(v.Environment), LogLevel: l.logLevel(v.LogLevel)}
	c.ControlURL, c.DataURLs, c.Placement = l.databases(v)
	c.Pooler = l.pooler(v.Pooler)

	c.OwnerPassword = l.password("HOLDFAST_OWNER_PASSWORD", v.OwnerPassword, l.process == Schema)
	c.APIPassword = l.password("HOLDFAST_API_PASSWORD", v.APIPassword, l.process == API || l.process == Check)
	c.WorkerPassword = l.password("HOLDFAST_WORKER_PASSWORD", v.WorkerPassword, l.process == Worker)
	if l.process != Schema {
		c.Bodies = l.bodies(v, c.Environment)
	}
	if l.process == Schema || l.process == Check {
		c.PoolSize = commandPoolSize
		return c
	}

	c.PoolSize = l.whole("HOLDFAST_POOL_SIZE", v.PoolSize, max(4, 4*runtime.NumCPU()), 1, maxPoolSize)
	c.Drain = time.Duration(l.whole("HOLDFAST_DRAIN_SECONDS", v.DrainSeconds, 0, 0, maxDrainSeconds)) * time.Second
	c.MetricsAddress = l.metricsAddress(v.MetricsAddress)
	if l.process == Worker {
		c.ServerKeys = l.serverKeys(v.ServerKeys)
		return c
	}

	c.APIAddress = l.apiAddress(v.APIAddress, c.Environment)
	c.Proxies = l.proxies(v.Proxies)
	c.Issuer = l.issuer(v.Issuer, c.Environment, c.APIAddress)
	c.ServerKeys = l.serverKeys(v.ServerKeys)
	c.OperatorKey = l.apiKey("HOLDFAST_OPERATOR_KEY", v.OperatorKey)
	c.SecondOperatorKey = l.secondOperatorKey(v, c.Environment)
	return c
}

// commandPoolSize: a command works on one thing of each database at a time. The
// schema's hold a lock beside it, and a check reads what is on other databases.
const commandPoolSize = 4

func (l *loader) environment(text string) Environment {
	switch e := Environment(text); e {
	case Development, Staging, Production:
		return e
	default:
		l.problem("HOLDFAST_ENVIRONMENT", "%q is not one of development, staging, production", text)
		return Production
	}
}

func (l *loader) logLevel(text string) slog.Level {
	switch text {
	case "debug":
		return slog.LevelDebug
	case "info":
		return slog.LevelInfo
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	default:
		l.problem("HOLDFAST_LOG_LEVEL", "%q is not one of debug, info, warn, error", text)
		return slog.LevelInfo
	}
}

func (l *loader) whole(name, text string, fallback, least, most int) int {
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		l.problem(name, "%q is not a whole number from %d to %d", text, least, most)
		return fallback
	}
	return n
}
