package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Client is a public OAuth client of a tenant (RFC 6749, section 2.1): a program
// on its users' own devices, which can keep no secret. Its id is all that it
// shows, so whatever it gets, somebody who is signed in must have approved.
type Client struct {
	ID              domain.ClientID
	Tenant          domain.TenantID
	Name            string   // unique in its tenant
	Scopes          []string // what it may ask for, sorted: the tenant's own words, which Holdfast never reads
	VerificationURI string   // where the tenant's application takes user codes
	CreatedAt       time.Time
	DisabledAt      time.Time // zero while it works

	// What follows is zero of a client that the Store gives, and set of one that
	// Tokens vouches for.

	Settings   Settings  // its tenant's
	VerifiedAt time.Time // before anything was looked at: a token for it lives from then
}

// clientPrefix begins the text of a client's id, hfc_<id>: 32 lower-case hex
// digits, as in an API key's hf_<id>.
const clientPrefix = "hfc_"

// ClientIDText is the client_id by which the client calls.
func ClientIDText(id domain.ClientID) string { return hexID(clientPrefix, id) }

// ParseClientIDText is the inverse of ClientIDText.
func ParseClientIDText(text string) (id domain.ClientID, ok bool) {
	ok = parseHexID(text, clientPrefix, &id)
	return id, ok
}

const clientColumns = `client_id, tenant_id, name, scopes, verification_uri, created_at, disabled_at`

func scanClient(row pgx.CollectableRow) (Client, error) {
	var c Client
	err := row.Scan(&c.ID, &c.Tenant, &c.Name, &c.Scopes, &c.VerificationURI, &c.CreatedAt, (*zeronull.Timestamptz)(&c.DisabledAt))
	c.CreatedAt, c.DisabledAt = c.CreatedAt.UTC(), c.DisabledAt.UTC()
	return c, err
}

const sqlClient = `SELECT ` + clientColumns + ` FROM clients WHERE tenant_id = $1 AND client_id = $2`

func clientTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.ClientID) (Client, error) {
	rows, _ := tx.Query(ctx, sqlClient, tenant, id)
	c, err := pgx.CollectExactlyOneRow(rows, scanClient)
	if errors.Is(err, pgx.ErrNoRows) {
		return Client{}, domain.NotFound("client_not_found", "There is no client of that id here.")
	}
	return c, err
}

const sqlClients = `
SELECT ` + clientColumns + ` FROM clients
 WHERE tenant_id = $1 AND name > $2 ORDER BY name LIMIT $3`

// Clients lists a tenant's public clients by name, disabled ones too. The
// position is the last name; more tells that others follow. Errors: forbidden;
// not found tenant_not_found.
func (s *Store) Clients(ctx context.Context, caller Scope, tenant domain.TenantID, page List[string]) (clients []Client, more bool, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return nil, false, err
	}
	if _, err := s.tenant(ctx, tenant); err != nil {
		return nil, false, err
	}
	err = s.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlClients, tenant, page.After, page.limit()+1)
		clients, err = pgx.CollectRows(rows, scanClient)
		return err
	})
	clients, more = cut(clients, page.limit())
	return clients, more, err
}

const sqlDisableClient = `
UPDATE clients SET disabled_at = $3
 WHERE tenant_id = $1 AND client_id = $2 AND disabled_at IS NULL
RETURNING ` + clientColumns

// DisableClient ends a client for good: it begins no device flow, its devices
// are not approved, poll in vain and refresh nothing, on every process within the
// poll. The tokens that it has last for their 15 minutes. Disabling it again changes
// nothing. Errors: forbidden; not found tenant_not_found, client_not_found.
func (s *Store) DisableClient(ctx context.Context, caller Scope, tenant domain.TenantID, id domain.ClientID) (c Client, err error) {
	if err := demand(caller, OperatorTenants); err != nil {
		return Client{}, err
	}
	if _, err := s.tenant(ctx, tenant); err != nil {
		return Client{}, err
	}
	err = s.controlTx(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlDisableClient, tenant, id, s.now())
		c, err = pgx.CollectExactlyOneRow(rows, scanClient)
		if errors.Is(err, pgx.ErrNoRows) {
			c, err = clientTx(ctx, tx, tenant, id)
			return err
		}
		if err != nil {
			return err
		}
		return s.revokeTx(ctx, tx, revocation{Tenant: tenant, Kind: revokedClient, Subject: id})
	})
	if err != nil {
		return Client{}, err
	}
	return c, nil
}
