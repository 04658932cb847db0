package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// tenant is a customer, and a client that calls as a principal of it.
type tenant struct {
	name      string
	id        holdfast.ID
	principal holdfast.ID
	key       string
	kept      bool // from an earlier run
	client    *holdfast.ClientWithResponses
}

// meetTenants makes two tenants as the first operator.
func meetTenants(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("Two tenants")
	for _, made := range []struct {
		name string
		into **tenant
	}{{"acme", &s.acme}, {"globex", &s.globex}} {
		err := n.step("an operator makes the tenant "+made.name+", a principal and an API key", func() (err error) {
			*made.into, err = s.newTenant(ctx, made.name, holdfast.IdentityStateOpen)
			return err
		})
		if err != nil {
			return err
		}
	}
	return n.step("a key buys a token, and nothing is there yet", func() error {
		return expectAccounts(ctx, s.acme, 0)
	})
}

// newTenant makes a tenant with a principal and its key. Its name is the one
// given and a random end, so that it is free in a database that was kept.
func (s *stack) newTenant(ctx context.Context, name string, state holdfast.NewTenantIdentityState) (*tenant, error) {
	return s.makeTenant(ctx, name+"-"+strings.ToLower(rand.Text()[:6]), state, nil)
}

// makeTenant makes a tenant with a principal and its key. With an idempotency key
// it gives those that an earlier call with that made, the API key's text too; what
// has been taken away since is errTakenAway.
func (s *stack) makeTenant(ctx context.Context, name string, state holdfast.NewTenantIdentityState, idempotencyKey *string) (*tenant, error) {
	made, err := s.operator.CreateTenantWithResponse(ctx, &holdfast.CreateTenantParams{IdempotencyKey: idempotencyKey},
		holdfast.NewTenant{Name: name, IdentityState: &state})
	if err != nil {
		return nil, err
	}
	if made.JSON201.State != "active" {
		return nil, fmt.Errorf("%w: the tenant is %s", errTakenAway, made.JSON201.State)
	}
	t := &tenant{name: made.JSON201.Name, id: made.JSON201.ID, kept: made.Headers201.IdempotentReplayed != nil}
	principal, err := s.operator.CreatePrincipalWithResponse(ctx, t.id, &holdfast.CreatePrincipalParams{IdempotencyKey: idempotencyKey},
		holdfast.NewPrincipal{Name: "backend", Scopes: holdfast.Scopes{"identity:read", "identity:write", "lease:admin", "lease:append", "lease:hold", "lease:read", "migration:request", "record:read", "record:write"}})
	if err != nil {
		return nil, err
	}
	t.principal = principal.JSON201.ID
	key, err := s.operator.CreateAPIKeyWithResponse(ctx, t.id, t.principal, &holdfast.CreateAPIKeyParams{IdempotencyKey: idempotencyKey},
		holdfast.NewAPIKey{})
	if err != nil {
		return nil, err
	}
	if key.JSON201.RevokedAt != nil {
		return nil, fmt.Errorf("%w: the API key is revoked", errTakenAway)
	}
	t.key = string(key.JSON201.APIKey)
	t.client, err = s.connect(t.key)
	return t, err
}

// makeClient makes a public client of the tenant's, or finds it, as makeTenant does.
func (s *stack) makeClient(ctx context.Context, t *tenant, idempotencyKey *string) (holdfast.PublicClient, error) {
	made, err := s.operator.CreateClientWithResponse(ctx, t.id, &holdfast.CreateClientParams{IdempotencyKey: idempotencyKey},
		holdfast.NewPublicClient{Name: "tv-app", Scopes: &[]string{"play", "record"}, VerificationURI: "https://acme.example/device"})
	if err != nil {
		return holdfast.PublicClient{}, err
	}
	if made.JSON201.DisabledAt != nil {
		return holdfast.PublicClient{}, fmt.Errorf("%w: the public client is disabled", errTakenAway)
	}
	return *made.JSON201, nil
}
