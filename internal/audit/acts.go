package audit

import (
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// actsAtOnce and actsPerSecond bound the acts that a tenant's own principals may
	// begin in one process: two entries each, and so as many a second as there are of
	// refusals.
	actsAtOnce    = 100
	actsPerSecond = 1

	// maxActing bounds the memory. A tenant that is forgotten begins anew.
	maxActing = 1 << 14
)

var errActs = domain.Limited("rate_limited",
	"The tenant's programs do more administrative acts than they may. This one wasn't done; try again when Retry-After says.")

// acts are the acts that tenants may still begin.
type acts struct {
	tenants *otter.Cache[domain.TenantID, *rate.Limiter]
}

func newActs() acts {
	return acts{otter.Must(&otter.Options[domain.TenantID, *rate.Limiter]{MaximumSize: maxActing})}
}

// Admit lets a tenant's own principal begin an act, or refuses it: nobody can fill the
// log with acts that he may do. Operators have no bound.
//
// Errors: limited rate_limited, with when to try again.
func (l *Log) Admit(tenant domain.TenantID) error {
	if tenant == operators {
		return nil
	}
	bucket, known := l.acts.tenants.GetIfPresent(tenant)
	if !known {
		bucket, _ = l.acts.tenants.SetIfAbsent(tenant, rate.NewLimiter(actsPerSecond, actsAtOnce))
	}
	now := l.now()
	if bucket.AllowN(now, 1) {
		return nil
	}
	missing := 1 - bucket.TokensAt(now)
	return errActs.After(time.Duration(missing / actsPerSecond * float64(time.Second)))
}
