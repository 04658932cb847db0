package migration

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// A crash between any two steps leaves what the same call finishes, by a process of
// whatever build; until then nothing else goes on.
func TestRequalify_GoesOnBehindACrash(t *testing.T) {
	t.Parallel()
	for _, crash := range []struct {
		name    string
		carried int
		by      string
	}{
		{"before any collection", 0, "build-2"},
		{"before any collection, by a later build", 0, "build-3"},
		{"behind the first one", 1, "build-2"},
		{"behind the last one", 2, "build-2"},
	} {
		t.Run(crash.name, func(t *testing.T) {
			t.Parallel()
			c := newCarried(t)
			rest := c.rest(t)
			e, hash := c.envelope(t)
			c.approve(t, hash)
			now := c.now(t, c.before.ID)
			begun, err := c.api2.beginRequalify(t.Context(), planner, &now, &e, hash)
			if err != nil {
				t.Fatal(err)
			}
			for i := range crash.carried {
				if err := c.api2.carryOver(t.Context(), &e, &e.Checkpoints[i]); err != nil {
					t.Fatal(err)
				}
			}
			third := c.process(t, postgres.RoleAPI, "build-3")
			for name, act := range map[string]func(context.Context) error{
				"resume": func(ctx context.Context) error {
					_, err := c.api2.Resume(ctx, planner, begun.Tenant, begun.ID, begun.PlanHash)
					return err
				},
				"another envelope": func(ctx context.Context) error {
					_, err := third.RequalifyPreview(ctx, planner, begun.Tenant, begun.ID, begun.PlanHash, c.qualified(t, third))
					return err
				},
			} {
				t.Log(name)
				c.refused(t, "requalification_under_way", begun.ID, act)
			}
			if err := c.requalify(c.process(t, postgres.RoleAPI, crash.by), hash)(t.Context()); err != nil {
				t.Fatal(err)
			}
			if o := c.at(t)["orders"]; o.PlanHash != e.NextHash || o.Build != "build-2" {
				t.Errorf("the orders go by %v of %s", o.PlanHash, o.Build)
			}
			if diff := cmp.Diff(rest, c.rest(t)); diff != "" {
				t.Errorf("what should stay has changed (-before +after)\n%s", diff)
			}
			c.refused(t, "envelope_applied", begun.ID, c.requalify(c.api2, hash))
			c.finish(t)
		})
	}
}

func TestRequalify_TwoAtOnce_ItIsAppliedOnce(t *testing.T) {
	t.Parallel()
	c := newCarried(t)
	e, hash := c.envelope(t)
	c.approve(t, hash)
	results := make(chan error, 4)
	for range cap(results) {
		go func() { results <- c.requalify(c.api2, hash)(t.Context()) }()
	}
	done := 0
	for range cap(results) {
		err := <-results
		if err == nil {
			done++
		} else if !slices.Contains([]string{"approval_missing", "migration_moved", "envelope_applied"}, domain.CodeOf(err)) {
			t.Errorf("one of them: %v", err)
		}
	}
	now := c.now(t, c.before.ID)
	if done == 0 || now.PlanHash != e.NextHash || len(now.Former) != 1 || now.Revision != c.before.Revision+3 {
		t.Errorf("%d were done, and the migration is %+v", done, now)
	}
	c.finish(t)
}
