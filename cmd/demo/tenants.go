package main

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// tenant is a customer, and a client that calls as a principal of it.
type tenant struct {
	name      string
	id        holdfast.ID
	principal holdfast.ID
	key       string
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
	made, err := s.operator.CreateTenantWithResponse(ctx, nil, holdfast.NewTenant{
		Name: name + "-" + strings.ToLower(rand.Text()[:6]), IdentityState: &state,
	})
	if err != nil {
		return nil, err
	}
	t := &tenant{name: made.JSON201.Name, id: made.JSON201.ID}
	principal, err := s.operator.CreatePrincipalWithResponse(ctx, t.id, nil, holdfast.NewPrincipal{
		Name: "backend", Scopes: holdfast.Scopes{"identity:read", "identity:write"},
	})
	if err != nil {
		return nil, err
	}
	t.principal = principal.JSON201.ID
	key, err := s.operator.CreateAPIKeyWithResponse(ctx, t.id, t.principal, nil, holdfast.NewAPIKey{})
	if err != nil {
		return nil, err
	}
	t.key = string(key.JSON201.APIKey)
	t.client, err = s.connect(t.key)
	return t, err
}

// newClient makes a public client of acme's.
func (s *stack) newClient(ctx context.Context) (holdfast.PublicClient, error) {
	made, err := s.operator.CreateClientWithResponse(ctx, s.acme.id, nil, holdfast.NewPublicClient{
		Name: "tv-app", Scopes: &[]string{"play", "record"}, VerificationURI: "https://acme.example/device",
	})
	if err != nil {
		return holdfast.PublicClient{}, err
	}
	return *made.JSON201, nil
}
