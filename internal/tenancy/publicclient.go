package tenancy

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// PublicClient tells which client calls by that client_id, hfc_<id>. What is
// known of it is remembered, and outdated within the poll once the client is
// disabled or its tenant suspended.
//
// Errors: *GrantError invalid_client (unknown or disabled), tenant_suspended,
// tenant_deleting;
// unavailable auth_unavailable, database_unavailable.
func (t *Tokens) PublicClient(ctx context.Context, clientID string) (Client, error) {
	refused := &GrantError{GrantInvalidClient, "The client is not known, or it was disabled."}
	id, ok := ParseClientIDText(clientID)
	if !ok {
		return Client{}, refused
	}
	c, tenantState, err := t.workingClient(ctx, id)
	switch {
	case errors.Is(err, errNoClient):
		return Client{}, refused
	case err != nil:
		return Client{}, err
	}
	if err := admitGrant(tenantState); err != nil {
		return Client{}, err
	}
	return c, nil
}

// PublicClientOf gives a client of the tenant, for the tenant's own application,
// whose token says that the tenant isn't suspended. Another tenant's client is as
// unknown as one that nobody made.
//
// Errors: invalid client_unknown at /client_id; unavailable.
func (t *Tokens) PublicClientOf(ctx context.Context, tenant domain.TenantID, id domain.ClientID) (Client, error) {
	c, _, err := t.workingClient(ctx, id)
	if errors.Is(err, errNoClient) || err == nil && c.Tenant != tenant {
		return Client{}, domain.Invalid("client_unknown", "The tenant has no such client, or it was disabled.").At("/client_id")
	}
	return c, err
}

var errNoClient = errors.New("no client of that id, or a disabled one")

// workingClient gives a client and the state of its tenant, or errNoClient.
func (t *Tokens) workingClient(ctx context.Context, id domain.ClientID) (c Client, tenantState string, err error) {
	now := t.now()
	k, err := t.knowledge(now)
	if err != nil {
		return Client{}, "", err
	}
	if c, err = t.readClient(ctx, k, id); err != nil {
		return Client{}, "", err
	}
	tenant, err := t.tenant(ctx, k, c.Tenant)
	if err != nil {
		return Client{}, "", err
	}
	if !c.DisabledAt.IsZero() || tenant.gone() {
		return Client{}, "", errNoClient
	}
	c.Settings, c.VerifiedAt = tenant.settings, now
	return c, tenant.state, nil
}

// knownClient is a client as it was when this process knew of all revocations
// up to a sequence.
type knownClient struct {
	client   Client
	sequence int64
}

const sqlTenantOfClient = `SELECT tenant_of_client($1)`

// readClient reads the client, or gives it as it was read before if nothing has
// happened to it since, as tenant does. Of an unknown id it says errNoClient and
// remembers nothing: anybody may ask for as many as they like.
func (t *Tokens) readClient(ctx context.Context, k *known, id domain.ClientID) (Client, error) {
	if c, found := t.clients.GetIfPresent(id); found && k.current(id, c.sequence) {
		return c.client, nil
	}
	var owner *domain.TenantID
	err := t.store.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlTenantOfClient, id).Scan(&owner)
	})
	if err != nil {
		return Client{}, err
	}
	if owner == nil {
		return Client{}, errNoClient
	}
	c := knownClient{sequence: k.sequence}
	err = t.store.controlRead(ctx, *owner, func(tx pgx.Tx) error {
		c.client, err = clientTx(ctx, tx, *owner, id)
		return err
	})
	if domain.KindOf(err) == domain.KindNotFound {
		return Client{}, errNoClient // it went in between
	}
	if err != nil {
		return Client{}, err
	}
	t.clients.Set(id, c)
	return c.client, nil
}
