package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// errTakenAway says that something of an earlier run's is there and works no more.
var errTakenAway = errors.New("it works no more")

// mostKept bounds how many tenants are tried before there must be something else
// wrong.
const mostKept = 100

// keptTenant gives the tenant that an earlier run made on this stack, and its
// public client, or makes them. Each thing is made under an idempotency key that
// is the same in every run, so it is made once, and its secrets are shown again.
// What can't be used any more (somebody suspended the tenant, say) is left, and the
// next is made.
func (s *stack) keptTenant(ctx context.Context, n *narrator) (*tenant, holdfast.PublicClient, error) {
	name := "acme"
	for i := 2; ; i++ {
		idempotencyKey := "make-dev-" + name
		t, client, err := s.tenantOf(ctx, name, &idempotencyKey)
		if !outOfUse(err) || i > mostKept {
			return t, client, err
		}
		n.note("the tenant %s stays as it is, and another is used: %v", name, err)
		name = fmt.Sprint("acme-", i)
	}
}

func (s *stack) tenantOf(ctx context.Context, name string, idempotencyKey *string) (*tenant, holdfast.PublicClient, error) {
	t, err := s.makeTenant(ctx, name, holdfast.IdentityStateOpen, idempotencyKey)
	if err != nil {
		return nil, holdfast.PublicClient{}, err
	}
	client, err := s.makeClient(ctx, t, idempotencyKey)
	return t, client, err
}

// outOfUse tells that another tenant is needed: something of this one was taken
// away, or its name is somebody else's, or it was made by another build otherwise.
func outOfUse(err error) bool {
	var refused *holdfast.Error
	if !errors.As(err, &refused) {
		return errors.Is(err, errTakenAway)
	}
	switch refused.Status {
	case http.StatusConflict, http.StatusGone, http.StatusUnprocessableEntity:
		return true
	}
	return false
}
