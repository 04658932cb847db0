package lease

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// More than may wait is refused with nothing changed, however small the payloads
// are, and keeps no other tenant from writing.
func TestAnAppend_IsRefusedWhileTooMuchWaits(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	db := c.router.Database(domain.NumberOf(world))
	leave, err := c.backlog.enter(db, c.scope.Tenant, maxWaitedBytes-entryWeight)
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, world, nil, "fits", "")
	two := Append{Entries: []AppendEntry{{ID: "one"}, {ID: "two"}}}
	_, err = c.Append(t.Context(), c.scope, world, nil, two)
	expectCode(t, err, domain.KindUnavailable, "overloaded")
	if another, err := c.backlog.enter(db, domain.NewID[domain.TenantKind](time.Now()), maxWaitedBytes); err != nil {
		t.Errorf("another tenant: %v", err)
	} else {
		another()
	}
	leave()
	if len(c.backlog.bytes) != 0 {
		t.Errorf("nothing waits, and %v is counted", c.backlog.bytes)
	}
	receipt, err := c.Append(t.Context(), c.scope, world, nil, two)
	if err != nil || len(receipt.Positions) != 2 || receipt.Positions[0] != 3 {
		t.Errorf("once there is room: %+v, %v", receipt, err)
	}
}

// Many nodes may renew all that they have at once, and an append beside them has
// its turn.
func TestRenewals_OfManyNodesAtOnceCrowdNobodyOut(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	lease := c.take(t, world)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			renewed, err := c.RenewAll(t.Context(), c.scope, slices.Repeat([]Renew{{world, lease}}, MaxRenewals))
			if err != nil {
				t.Error(err)
			}
			for _, r := range renewed {
				if r.Err != nil {
					t.Error(r.Err)
					return
				}
			}
		})
	}
	c.write(t, world, &lease, "", "beside them")
	all.Wait()
}
