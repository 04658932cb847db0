package bench

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
)

// stack is an API process over the configured databases, and a tenant's token.
type stack struct {
	api      *observed
	operator *client
	tenantID string
	tenant   *client // calls as a principal of the tenant
	key      string  // the principal's
	oauth    string  // the tenant's public client
	owner    *pgxpool.Pool
	config   config.Config
}

// newStack makes the schema, starts the API and makes a tenant.
func newStack(ctx context.Context, environ []string, callers int, log io.Writer) (*stack, error) {
	c, err := config.Load(config.Schema, environ)
	if err != nil {
		return nil, fmt.Errorf("the configuration is wrong (make bench sets it):\n%w", err)
	}
	router, err := postgres.Open(ctx, c.Postgres())
	if err != nil {
		return nil, err
	}
	defer router.Close()
	passwords := postgres.Passwords{API: c.APIPassword.Reveal(), Worker: c.WorkerPassword.Reveal()}
	if err := schema.Up(ctx, router, passwords, func(string, string) {}); err != nil {
		return nil, err
	}
	s := &stack{config: c}
	if s.owner, err = openOwner(ctx, c); err != nil {
		return nil, err
	}
	s.api, err = observe(ctx, "api", log, "HOLDFAST_API_ADDRESS=127.0.0.1:0", "HOLDFAST_ISSUER=http://localhost")
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.makeTenant(ctx, "http://"+s.api.Address, variable(environ, "HOLDFAST_OPERATOR_KEY"), callers); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.api.rest()
	return s, nil
}

func (s *stack) close() error {
	s.owner.Close()
	if s.api == nil {
		return nil
	}
	return s.api.Stop()
}

func variable(environ []string, name string) string {
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

// openOwner connects to the data database that holds the reference's table.
func openOwner(ctx context.Context, c config.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.ParseConfig(c.DataURLs[0].URL)
	if err != nil {
		return nil, errors.New("the data database's URL can't be read")
	}
	pool.ConnConfig.User, pool.ConnConfig.Password = postgres.RoleOwner, c.OwnerPassword.Reveal()
	return pgxpool.NewWithConfig(ctx, pool)
}

// tenantScopes are what the principal may do whose calls are measured.
var tenantScopes = []string{
	"identity:read", "identity:write", "lease:read", "lease:append", "lease:hold", "lease:admin", "record:read", "record:write",
}

// makeTenant makes the tenant that is measured, without limits that it could meet.
func (s *stack) makeTenant(ctx context.Context, base, operatorKey string, callers int) error {
	s.operator = newClient(base, 1)
	if err := s.operator.logIn(ctx, operatorKey); err != nil {
		return err
	}
	made, err := s.newTenant(ctx, callers)
	if err != nil {
		return err
	}
	s.tenantID, s.oauth, s.key, s.tenant = made.id, made.oauth, made.key, made.client
	const endless = 1_000_000
	return s.limit(ctx, made.id, map[string]any{
		"requests_per_second": endless, "concurrent_requests": endless, "entries_per_second": endless,
	})
}

// madeTenant is a tenant with a public OAuth client and a principal, as whom the
// client calls.
type madeTenant struct {
	id, oauth, key string
	client         *client
}

func (s *stack) newTenant(ctx context.Context, callers int) (made madeTenant, err error) {
	var tenant, principal, public struct {
		ID string `json:"id"`
	}
	name := map[string]any{"name": "bench-" + strings.ToLower(randomText(8))}
	if err := s.operator.call(ctx, http.MethodPost, "/v1/tenants", name, http.StatusCreated, &tenant); err != nil {
		return made, err
	}
	app := map[string]any{"name": "bench", "scopes": []string{"play"}, "verification_uri": "https://example.com/device"}
	if err := s.operator.call(ctx, http.MethodPost, "/v1/tenants/"+tenant.ID+"/clients", app, http.StatusCreated, &public); err != nil {
		return made, err
	}
	principals := "/v1/tenants/" + tenant.ID + "/principals"
	asked := map[string]any{"name": "bench", "scopes": tenantScopes}
	if err := s.operator.call(ctx, http.MethodPost, principals, asked, http.StatusCreated, &principal); err != nil {
		return made, err
	}
	var key struct {
		Key string `json:"api_key"`
	}
	keys := principals + "/" + principal.ID + "/api-keys"
	if err := s.operator.call(ctx, http.MethodPost, keys, map[string]any{"label": "bench"}, http.StatusCreated, &key); err != nil {
		return made, err
	}
	made = madeTenant{tenant.ID, public.ID, key.Key, newClient(s.operator.base, callers)}
	return made, made.client.logIn(ctx, key.Key)
}

// limit sets limits of a tenant that has none of its own.
func (s *stack) limit(ctx context.Context, tenant string, limits map[string]any) error {
	request, err := s.operator.request(ctx, http.MethodPut, "/v1/tenants/"+tenant+"/limits", limits)
	if err != nil {
		return err
	}
	request.Header.Set("If-Match", `"1"`)
	return s.operator.do(request, http.StatusOK, nil)
}

// logIn buys a token with an API key.
func (c *client) logIn(ctx context.Context, key string) error {
	parts := strings.SplitN(key, "_", 3)
	if len(parts) != 3 {
		return errors.New("HOLDFAST_OPERATOR_KEY is not an API key")
	}
	form := strings.NewReader("grant_type=client_credentials")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/oauth/token", form)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", mediaForm)
	request.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("hf_"+parts[1]+":"+parts[2])))
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := c.do(request, http.StatusOK, &token); err != nil {
		return err
	}
	c.token = token.AccessToken
	return nil
}
