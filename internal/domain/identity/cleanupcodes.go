package identity

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// releaseExpired releases the claims of codes that have expired, by exact token:
// a code that another device has taken over since is that device's. Its former
// one, if it lives on, keeps the code as data.
func (s *Service) releaseExpired(ctx context.Context, c *cleaning) (int, error) {
	claims, err := s.claimsOf(ctx, c.tenant, domain.FamilyDeviceCode, c.number, c.found)
	if err != nil || len(claims) == 0 {
		return 0, err
	}
	if err := s.reach(ctx, "cleanup codes found"); err != nil {
		return 0, err
	}
	releases := make([]*releasing, len(claims))
	for i, claim := range claims {
		releases[i] = &releasing{claim.owner, claim.link}
	}
	return len(releases), s.releasing.Do(ctx, s.router.Database(c.number), c.tenant, releases...)
}
