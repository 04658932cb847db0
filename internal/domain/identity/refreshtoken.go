package identity

import (
	"crypto/subtle"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// refresh is a refresh token on its way into the database.
type refresh struct {
	token       refreshToken
	hash        []byte
	serverKeyID string
}

func newRefresh(id domain.DeviceID, generation int64, secret []byte, serverKeyID string) refresh {
	return refresh{refreshToken{id, generation, [secretSize]byte(secret)}, hashSecret(secret), serverKeyID}
}

func (s *Service) firstRefresh(tenant domain.TenantID, id domain.DeviceID) refresh {
	secret, keyID := s.secrets.Derive(refreshParts(tenant, id, 1)...)
	return newRefresh(id, 1, secret, keyID)
}

// nextRefresh is the token behind the chain's last one. It derives from the
// chain's server key, so that spent ones can be told from guesses; once that
// was taken away, from the current one, and tokens of before are no longer told.
func (s *Service) nextRefresh(tenant domain.TenantID, d *deviceRow) refresh {
	generation := d.refresh.generation + 1
	parts := refreshParts(tenant, d.ID, generation)
	if secret, ok := s.secrets.DeriveWith(d.refresh.serverKeyID, parts...); ok {
		return newRefresh(d.ID, generation, secret, d.refresh.serverKeyID)
	}
	secret, keyID := s.secrets.Derive(parts...)
	return newRefresh(d.ID, generation, secret, keyID)
}

// standing of a refresh token in its device's chain.
type refreshStanding int

const (
	unknownToken refreshStanding = iota // nobody's: never issued, or of a chain that has ended
	currentToken                        // the chain's last
	spentToken                          // was issued, and has been turned into the next
)

// standingOf tells a token's standing with a client, whose the device must be.
func (s *Service) standingOf(client tenancy.Client, d *deviceRow, t refreshToken) refreshStanding {
	switch {
	case d.Status != DeviceApproved || subtle.ConstantTimeCompare(d.Client[:], client.ID[:]) != 1:
		return unknownToken
	case t.generation == d.refresh.generation:
		if subtle.ConstantTimeCompare(hashSecret(t.secret[:]), d.refresh.hash) == 1 {
			return currentToken
		}
	case t.generation < d.refresh.generation:
		secret, ok := s.secrets.DeriveWith(d.refresh.serverKeyID, refreshParts(client.Tenant, d.ID, t.generation)...)
		if ok && subtle.ConstantTimeCompare(secret, t.secret[:]) == 1 {
			return spentToken
		}
	}
	return unknownToken
}

func (c refreshChain) lives(now time.Time) bool {
	return c.expiresAt != nil && now.Before(*c.expiresAt)
}
