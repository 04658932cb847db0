package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// dev leaves everything running until it is interrupted.
func dev(ctx context.Context) error {
	n := &narrator{out: os.Stdout}
	s, err := startStack(ctx, n, nil)
	if err != nil {
		return err
	}
	defer s.stop()
	operator, err := s.connect(os.Getenv("HOLDFAST_OPERATOR_KEY"))
	if err != nil {
		return err
	}
	if s.acme, err = s.newTenant(ctx, operator, "acme"); err != nil {
		return err
	}
	fmt.Print(s.calls())
	<-ctx.Done()
	fmt.Println("\nStopping.")
	api, worker := s.api, s.worker
	s.api, s.worker = nil, nil
	return errors.Join(api.Stop(), worker.Stop())
}

// calls are ready to paste.
func (s *stack) calls() string {
	parts := strings.SplitN(s.acme.key, "_", 3)
	return fmt.Sprintf(`
Holdfast serves at %[1]s until you press Ctrl-C. Its log is %[4]s.
The tenant "acme" is there, with a key. Paste:

  export HOLDFAST=%[1]s
  export TOKEN=$(curl -s -u 'hf_%[2]s:%[3]s' -d grant_type=client_credentials $HOLDFAST/v1/oauth/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/')

  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
       -d '{"handle": "Ada", "email": "ada@example.com", "email_verified": true}' $HOLDFAST/v1/accounts
  curl -si -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"handle": "ada"}' $HOLDFAST/v1/accounts/lookup
  curl -si -H "Authorization: Bearer $TOKEN" $HOLDFAST/v1/accounts

The two operators' API keys, for this stack only:

  %[5]s
  %[6]s
`, s.url(), parts[1], parts[2], s.log.Name(), os.Getenv("HOLDFAST_OPERATOR_KEY"), os.Getenv("HOLDFAST_SECOND_OPERATOR_KEY"))
}
