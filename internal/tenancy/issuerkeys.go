package tenancy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/maypok86/otter/v2"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// keysFresh is how long an issuer's keys are taken for what it publishes. They are
	// fetched anew while the old ones are still in use.
	keysFresh = 5 * time.Minute
	// keysKept is how long they are used while they can't be fetched.
	keysKept = time.Hour
	// fetchEvery is the least time between two fetches from one issuer: how soon a new
	// key is known that nobody announced, and how often an unknown one may make this
	// process ask.
	fetchEvery = 10 * time.Second

	maxKnownIssuers = 1 << 12
	maxFetches      = 16 // at once, in one process
	maxFetchesOf    = 4  // of them for one tenant, so that its slow issuers don't take all
)

// issuerKeys are the keys of issuers, fetched when a token first needs one.
type issuerKeys struct {
	client  *http.Client
	log     *slog.Logger
	now     func() time.Time
	fetches chan struct{} // has room for those under way

	mu       sync.Mutex // taken behind that of a keysOf
	issuers  *otter.Cache[IssuerID, *keysOf]
	fetching map[domain.TenantID]int // how many fetches are under way, where it isn't 0
}

func newIssuerKeys(settings FetchSettings, log *slog.Logger, now func() time.Time) (*issuerKeys, error) {
	issuers, err := otter.New(&otter.Options[IssuerID, *keysOf]{MaximumSize: maxKnownIssuers})
	if err != nil {
		return nil, err
	}
	return &issuerKeys{
		client: newFetchClient(settings), log: log, now: now,
		fetches: make(chan struct{}, maxFetches), issuers: issuers, fetching: map[domain.TenantID]int{},
	}, nil
}

// keysOf is what is known of one issuer's keys.
type keysOf struct {
	mu        sync.Mutex
	keys      jwkset.Storage // nil before the first fetch that succeeded
	fetchedAt time.Time      // when that began
	triedAt   time.Time      // when the last one began
	underWay  chan struct{}  // closed when the fetch under way has ended; nil without one
}

var errKeyNotPublished = errors.New("the issuer publishes no such key")

// key gives the key of an id. It waits for a fetch only where there is no answer
// without one.
//
// Errors: errKeyNotPublished; unavailable issuer_unavailable when its keys can't be
// had, or are older than keysKept.
func (k *issuerKeys) key(ctx context.Context, issuer Issuer, id string) (jwkset.JWK, error) {
	of := k.of(issuer.ID)
	for {
		key, found, usable, wait := k.look(of, issuer, id)
		switch {
		case found:
			return key, nil
		case wait == nil && usable:
			return jwkset.JWK{}, errKeyNotPublished
		case wait == nil:
			return jwkset.JWK{}, errIssuerUnavailable()
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return jwkset.JWK{}, ctx.Err()
		}
	}
}

func (k *issuerKeys) of(id IssuerID) *keysOf {
	k.mu.Lock()
	defer k.mu.Unlock()
	of, found := k.issuers.GetIfPresent(id)
	if !found {
		of = &keysOf{}
		k.issuers.Set(id, of)
	}
	return of
}

// look gives the key if it is known; whether the keys that are known are of an age at
// which they count; and what to wait for where the key may come with it.
func (k *issuerKeys) look(of *keysOf, issuer Issuer, id string) (key jwkset.JWK, found, usable bool, wait <-chan struct{}) {
	of.mu.Lock()
	defer of.mu.Unlock()
	now := k.now()
	age := now.Sub(of.fetchedAt)
	if usable = of.keys != nil && age < keysKept; usable {
		var err error
		key, err = of.keys.KeyRead(context.Background(), id) // from memory
		found = err == nil
	}
	if found && age < keysFresh {
		return key, true, true, nil
	}
	if of.underWay == nil && (of.triedAt.IsZero() || now.Sub(of.triedAt) >= fetchEvery) {
		k.begin(of, issuer, now)
	}
	return key, found, usable, of.underWay
}

// begin fetches in the background: who asked may have gone, and others wait too.
func (k *issuerKeys) begin(of *keysOf, issuer Issuer, now time.Time) {
	if !k.take(issuer.Tenant) {
		return // too many are under way; who comes later begins this one
	}
	of.triedAt, of.underWay = now, make(chan struct{})
	go func() {
		defer k.giveBack(issuer.Tenant)
		ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
		defer cancel()
		keys, err := fetchKeys(ctx, k.client, issuer.JWKSURI)
		if err != nil {
			k.log.Warn("an issuer's keys can't be fetched", "tenant_id", issuer.Tenant.String(), "error", err)
		}
		of.mu.Lock()
		defer of.mu.Unlock()
		if err == nil {
			of.keys, of.fetchedAt = keys, now
		}
		close(of.underWay)
		of.underWay = nil
	}()
}

// take has a fetch of the tenant's count, unless too many do.
func (k *issuerKeys) take(tenant domain.TenantID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetching[tenant] == maxFetchesOf {
		return false
	}
	select {
	case k.fetches <- struct{}{}:
		k.fetching[tenant]++
		return true
	default:
		return false
	}
}

func (k *issuerKeys) giveBack(tenant domain.TenantID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetching[tenant]--; k.fetching[tenant] == 0 {
		delete(k.fetching, tenant)
	}
	<-k.fetches
}

func errIssuerUnavailable() error {
	return domain.Unavailable("issuer_unavailable",
		"The keys of the token's issuer can't be had at the moment, so nobody can tell whether it is good. Try again.").After(fetchEvery)
}
