package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Exit codes.
const (
	exitFailed  = 1
	exitSetting = 2
)

var errConfiguration = errors.New("the configuration is wrong")

// codeOf is the exit code of a process that ended with an error.
func codeOf(err error) int {
	if errors.Is(err, errConfiguration) {
		return exitSetting
	}
	return exitFailed
}

// run serves until ctx ends, drains, and gives what went wrong. It writes one
// line to stdout, when it is ready, and its log to stderr. The keys of tenants' issuers
// are fetched as it is told: the zero value is for production.
func run(ctx context.Context, environ []string, fetch tenancy.FetchSettings, stdout, stderr io.Writer) error {
	c, err := config.Load(config.API, environ)
	if err != nil {
		return fmt.Errorf("%w:\n%w", errConfiguration, err)
	}
	p, err := start(ctx, c, fetch, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "The API listens on http://%s\n", p.public.address())
	select {
	case <-ctx.Done():
	case err = <-p.public.failed:
	}
	return errors.Join(err, p.stop())
}
