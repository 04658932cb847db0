package tenancy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	maxExternalToken = 8192 // bytes
	maxSubject       = 255  // characters
)

// externalMethods are the asymmetric ones: what verifies a token can't make one.
func externalMethods() []string {
	return []string{"EdDSA", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"}
}

// externalClaims are those of a tenant's issuer that are looked at.
type externalClaims struct {
	jwt.RegisteredClaims
	Scope scopeClaim `json:"scope"` // RFC 8693, section 4.2
	SCP   scopeClaim `json:"scp"`   // as some spell it
}

// scopeClaim is a list of scopes as one text, with spaces between them, or as an
// array.
type scopeClaim []string

// UnmarshalJSON takes either.
func (c *scopeClaim) UnmarshalJSON(text []byte) error {
	var list []string
	if err := json.Unmarshal(text, &list); err == nil {
		*c = list
		return nil
	}
	var spaced string
	if err := json.Unmarshal(text, &spaced); err != nil {
		return err
	}
	*c = strings.Fields(spaced)
	return nil
}

// issuerIn reads whom a token says it is from, which is nobody's word yet; "" where it
// says nothing that an external issuer could be called.
func issuerIn(token string) string {
	var c jwt.RegisteredClaims
	if len(token) > maxExternalToken {
		return ""
	}
	if _, _, err := jwt.NewParser().ParseUnverified(token, &c); err != nil || !isIssuerURL(c.Issuer, maxIssuerURL) {
		return ""
	}
	return c.Issuer
}

// verifyExternal judges a token of a tenant's issuer.
//
// Its holder is who the issuer says, in that issuer's words: the id of the principal
// derives from issuer and subject under the tenant's own key, so that it is never that
// of a principal of Holdfast's, or of another issuer's. It counts for as long as the
// token, and no longer than one of Holdfast's: then it is judged anew.
//
// Errors: unauthenticated token_invalid, token_expired; unavailable issuer_unavailable.
func (t *Tokens) verifyExternal(ctx context.Context, k *known, token, from string, now time.Time) (holder, error) {
	issuer, err := t.trusted(ctx, k, from)
	if err != nil {
		return holder{}, err
	}
	tenant, err := t.tenant(ctx, k, issuer.Tenant)
	if err != nil {
		return holder{}, err
	}
	if tenant.gone() {
		return holder{}, errTokenInvalid(errNotTrusted)
	}
	c, err := t.externalClaims(ctx, issuer, token, now)
	if err != nil {
		return holder{}, err
	}
	return holder{
		scope: Scope{
			Tenant:    issuer.Tenant,
			Principal: domain.DeriveID[domain.PrincipalKind](tenant.settings.IDKey, "external-principal", issuer.URL, c.Subject),
			Name:      issuer.URL + "#" + c.Subject,
			Scopes:    c.within(issuer.Scopes),
			External:  External{Issuer: issuer.URL, Subject: c.Subject, Trust: issuer.ID},
		},
		expires: earlier(c.ExpiresAt.Time, now.Add(tokenLifetime)),
	}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// externalClaims verifies the token and gives its claims.
func (t *Tokens) externalClaims(ctx context.Context, issuer Issuer, token string, now time.Time) (c externalClaims, err error) {
	parser := jwt.NewParser(
		jwt.WithValidMethods(externalMethods()),
		jwt.WithIssuer(issuer.URL),
		jwt.WithAudience(issuer.Audience),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(tokenLeeway),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return now }),
	)
	var unavailable error // jwt keeps the text of an error, and not its kind
	_, err = parser.ParseWithClaims(token, &c, func(parsed *jwt.Token) (any, error) {
		key, err := t.externalKey(ctx, issuer, parsed)
		if err != nil && !errors.Is(err, errKeyNotPublished) {
			unavailable = err
		}
		return key, err
	})
	switch {
	case domain.KindOf(unavailable) == domain.KindUnavailable || errors.Is(unavailable, context.Canceled) || errors.Is(unavailable, context.DeadlineExceeded):
		return c, unavailable
	case onlyExpired(err):
		return c, errTokenExpired()
	case err != nil:
		return c, errTokenInvalid(err)
	}
	if err := c.wrong(issuer.MaxLifetime); err != nil {
		return c, errTokenInvalid(err)
	}
	return c, nil
}

// externalKey finds the key that the token names among those that the issuer
// publishes. Keys, and places of keys, that a token brings along (jku, jwk, x5c, x5u)
// count for nothing.
func (t *Tokens) externalKey(ctx context.Context, issuer Issuer, parsed *jwt.Token) (any, error) {
	if _, critical := parsed.Header["crit"]; critical {
		return nil, errors.New("it demands extensions that are not known here") // RFC 7515, section 4.1.11
	}
	id, _ := parsed.Header["kid"].(string)
	if id == "" || len(id) > maxSubject {
		return nil, errors.New("it names no key")
	}
	key, err := t.issuerKeys.key(ctx, issuer, id)
	if err != nil {
		return nil, err
	}
	one := jwkset.NewMemoryStorage()
	if err := one.KeyWrite(ctx, key); err != nil {
		return nil, err
	}
	chosen, err := keyfunc.New(keyfunc.Options{Storage: one, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
	if err != nil {
		return nil, err
	}
	return chosen.KeyfuncCtx(ctx)(parsed) // which holds the key's algorithm to the token's
}

// wrong says what no token may be like that is otherwise good.
func (c *externalClaims) wrong(maxLifetime time.Duration) error {
	switch {
	case c.Subject == "" || !printable(c.Subject, maxSubject):
		return errors.New("it has no subject, or one that can't be written down")
	case c.IssuedAt == nil:
		return errors.New("it doesn't say when it was issued")
	case c.ExpiresAt.Sub(c.IssuedAt.Time) > maxLifetime:
		return errors.New("it lives longer than its issuer is trusted for")
	default:
		return nil
	}
}

// within gives the token's scopes that its issuer may grant. What else it says is for
// others.
func (c *externalClaims) within(most []string) []string {
	granted := []string{}
	for _, scope := range most {
		if slices.Contains(c.Scope, scope) || slices.Contains(c.SCP, scope) {
			granted = append(granted, scope)
		}
	}
	return granted
}

// unknownFor is how long it is remembered that nobody trusts an issuer, and so how long
// one that was trusted since may be refused: made-up tokens of one name cost the
// database a read in that time, and no more.
const unknownFor = time.Second

var errNotTrusted = errors.New("nobody trusts its issuer")

// knownIssuer is an issuer as it was when this process knew of all revocations up to
// a sequence.
type knownIssuer struct {
	issuer   Issuer
	sequence int64
}

const sqlTrustedIssuer = `SELECT tenant_id, issuer_id FROM trusted_issuer($1)`

// trusted reads the issuer of that name, or gives it as it was read before, as
// readClient does.
func (t *Tokens) trusted(ctx context.Context, k *known, name string) (Issuer, error) {
	if i, found := t.issuers.GetIfPresent(name); found && k.current(i.issuer.ID, i.sequence) {
		return i.issuer, nil
	}
	if until, found := t.unknown.GetIfPresent(name); found && t.now().Before(until) {
		return Issuer{}, errTokenInvalid(errNotTrusted)
	}
	var tenant domain.TenantID
	var id IssuerID
	err := t.store.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlTrustedIssuer, name).Scan(&tenant, &id)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		t.unknown.Set(name, t.now().Add(unknownFor))
		return Issuer{}, errTokenInvalid(errNotTrusted)
	}
	if err != nil {
		return Issuer{}, err
	}
	i := knownIssuer{sequence: k.sequence}
	err = t.store.controlRead(ctx, tenant, func(tx pgx.Tx) error {
		i.issuer, err = issuerTx(ctx, tx, tenant, id)
		return err
	})
	if domain.KindOf(err) == domain.KindNotFound || err == nil && !i.issuer.DisabledAt.IsZero() {
		return Issuer{}, errTokenInvalid(errNotTrusted) // it went in between
	}
	if err != nil {
		return Issuer{}, err
	}
	t.issuers.Set(name, i)
	return i.issuer, nil
}
