package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A tenant that does one act after the other is soon held to one a second, and takes
// nobody else's.
func TestAdmit_BoundsEachTenant(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	log := audit.New(nil, nil, func() time.Time { return now })
	admitted := func(of domain.TenantID) (n int) {
		for range 1000 {
			if err := log.Admit(of); err == nil {
				n++
			} else if domain.CodeOf(err) != "rate_limited" {
				t.Fatal(err)
			}
		}
		return n
	}
	for _, want := range []int{100, 60} {
		if n := admitted(tenant); n != want {
			t.Errorf("%d acts, want %d", n, want)
		}
		now = now.Add(time.Minute)
	}
	if n := admitted(other); n != 100 {
		t.Errorf("%d of another tenant's acts", n)
	}
	if n := admitted(domain.TenantID{}); n != 1000 {
		t.Errorf("%d acts of operators", n)
	}
}

// What tenants do is written in their own turns: those who take all they can have of
// the connections leave the operators theirs.
func TestAppend_IsInTheTurnOfWhoActs(t *testing.T) {
	t.Parallel()
	in := install(t)
	control := in.databases.Router(t, postgres.RoleAPI).Control()
	turns := &turnsTaken{Store: tenancy.NewStore(control, nil, nil, time.Now)}
	log := audit.New(turns, nil, time.Now)
	theirs := audit.Actor{Tenant: tenant, Name: "ci"}
	for _, actor := range []*audit.Actor{&theirs, &ada, nil} {
		_, err := log.Append(t.Context(), audit.Entry{Operation: "deleteWorld", Outcome: audit.Begun, Actor: actor})
		must(t, err)
	}
	if want := [...]domain.TenantID{tenant, {}, {}}; len(turns.of) != 3 || [3]domain.TenantID(turns.of) != want {
		t.Errorf("the turns of %v", turns.of)
	}
}

// turnsTaken notes in whose turn the log is written.
type turnsTaken struct {
	*tenancy.Store
	of []domain.TenantID
}

func (c *turnsTaken) OperatorsTx(ctx context.Context, inTurnOf domain.TenantID, fn func(pgx.Tx) error) error {
	c.of = append(c.of, inTurnOf)
	return c.Store.OperatorsTx(ctx, inTurnOf, fn)
}
