package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// dev leaves everything running until it is interrupted, or until one of the
// servers ends by itself, which is an error.
func dev(ctx context.Context) error {
	log, err := os.CreateTemp("", "holdfast-demo-*.log")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	s, err := startStack(ctx, &narrator{out: os.Stdout}, log, os.Getenv("HOLDFAST_API_ADDRESS"))
	if err != nil {
		return hint(err)
	}
	defer s.stop()
	if s.acme, err = s.newTenant(ctx, "acme"); err != nil {
		return hint(err)
	}
	fmt.Print(s.calls())
	return s.serve(ctx)
}

// serve waits for the interrupt and stops both servers as a roll would. If one
// ends before that, it stops the other and tells.
func (s *stack) serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.api.Done():
	case <-s.worker.Done():
	}
	if ctx.Err() != nil { // a terminal interrupts the servers too
		fmt.Println("\nStopping.")
		return errors.Join(s.api.Stop(), s.worker.Stop())
	}
	select {
	case <-s.api.Done():
		s.worker.Stop()
		return fmt.Errorf("the API ended by itself: %w", s.api.End())
	default:
		s.api.Stop()
		return fmt.Errorf("the worker ended by itself: %w", s.worker.End())
	}
}

// hint adds what to do about an error, where that is known.
func hint(err error) error {
	switch {
	case holdfast.IsCode(err, "invalid_client"):
		return fmt.Errorf("%w\nThe key in HOLDFAST_OPERATOR_KEY is refused: it was revoked, or its operator was disabled. "+
			"Removing .holdfast/dev, with all data in it, starts afresh", err)
	case strings.Contains(err.Error(), "address already in use"): // a server's last lines
		return fmt.Errorf("%w\nAn address is taken: HOLDFAST_API_ADDRESS (127.0.0.1:8080) or HOLDFAST_METRICS_ADDRESS "+
			"(127.0.0.1:9090, the worker's 127.0.0.1:9091). Set another; with 127.0.0.1:0 a free port is taken", err)
	}
	return err
}

// calls are ready to paste.
func (s *stack) calls() string {
	id, secret, _ := strings.Cut(strings.TrimPrefix(s.acme.key, "hf_"), "_")
	return fmt.Sprintf(`
Holdfast serves at %[1]s until you press Ctrl-C. Its log is %[4]s.
The tenant %[7]q is there, with a key. Paste:

  export HOLDFAST=%[1]s
  export TOKEN=$(curl -s -u 'hf_%[2]s:%[3]s' -d grant_type=client_credentials $HOLDFAST/v1/oauth/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/')

  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
       -d '{"handle": "Ada", "email": "ada@example.com", "email_verified": true}' $HOLDFAST/v1/accounts
  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"handle": "ada"}' $HOLDFAST/v1/accounts/lookup
  curl -si -H "Authorization: Bearer $TOKEN" $HOLDFAST/v1/accounts

The command line is bin/holdfast, here as the first operator:

  export HOLDFAST_URL=%[1]s
  export HOLDFAST_API_KEY=%[5]s
  bin/holdfast tenant list

The second operator's API key, for this stack only like the first's:

  %[6]s
`, s.url(), id, secret, s.log.Name(), os.Getenv("HOLDFAST_OPERATOR_KEY"), os.Getenv("HOLDFAST_SECOND_OPERATOR_KEY"), s.acme.name)
}
