package holdfast

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	keysLast     = 10 * time.Minute // the service says so; a key is published for longer before it signs
	keysAskAgain = 10 * time.Second // at least, for a key that isn't there: anybody can make one up
)

// publishedKeys are the service's public keys (RFC 7517), fetched when they are
// needed. Requests that find them old wait for the one that fetches.
type publishedKeys struct {
	client *ClientWithResponses

	mu      sync.Mutex
	keys    map[string]ed25519.PublicKey
	fetched time.Time
}

// get is the key of an id, or nil if there is none.
func (p *publishedKeys) get(ctx context.Context, id string) (ed25519.PublicKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, age := p.keys[id], time.Since(p.fetched)
	if age < keysAskAgain || key != nil && age < keysLast {
		return key, nil
	}
	published, err := p.client.GetJwksWithResponse(ctx)
	if err == nil && published.JSON200 == nil {
		err = fmt.Errorf("holdfast: the keys came as %s", published.ContentType())
	}
	if err != nil {
		return nil, err
	}
	p.keys, p.fetched = map[string]ed25519.PublicKey{}, time.Now()
	for _, k := range published.JSON200.Keys {
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err == nil && k.Kty == "OKP" && k.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize {
			p.keys[k.Kid] = x
		}
	}
	return p.keys[id], nil
}

// refusing turns what isn't a success into an *Error, as every client here does.
type refusing struct{ doer HttpRequestDoer }

func (r refusing) Do(request *http.Request) (*http.Response, error) {
	response, err := r.doer.Do(request)
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		return nil, errorIn(response)
	}
	return response, err
}
