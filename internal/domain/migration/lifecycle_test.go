package migration

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// inOwnBucket gives the test's processes a bucket of their own, whose rules the test
// may set.
func (m *moving) inOwnBucket(t testing.TB) objectstore.Settings {
	t.Helper()
	own := testkit.OwnBucket(t)
	for _, s := range []**Service{&m.Service, &m.api} {
		router := (*s).router
		records := record.New(router, lease.New(router, testSecrets("server"), lease.Options{}), testkit.OpenBodies(t, m.faults.Through(own)), record.Options{})
		*s = New(router, (*s).control, records, Options{Build: "build-1", IDKey: []byte("ids")})
	}
	return own
}

// R16: a rule that can delete bodies refuses a plan, whichever way it overlaps; one
// that can't doesn't; and rules that can't be read are assumed the worst of.
func TestPreview_RefusesABucketWhoseRulesCanDeleteBodies(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	own := m.inOwnBucket(t)
	m.fill(t, "orders", 2)
	asked := m.ask(t, RecordBodies)
	preview := func(ctx context.Context) error {
		_, _, err := m.api.Preview(ctx, planner, asked.Tenant, asked.ID, Preview{Qualification: m.qualified(t, m.api)})
		return err
	}
	disabled, byDate, bySize := testkit.ExpireBelow(""), testkit.ExpireBelow("tenants/"), testkit.ExpireBelow("")
	disabled.Status = types.ExpirationStatusDisabled
	byDate.Expiration = &types.LifecycleExpiration{Date: aws.Time(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC))}
	bySize.Filter = &types.LifecycleRuleFilter{And: &types.LifecycleRuleAndOperator{Prefix: aws.String("tenants/"), ObjectSizeGreaterThan: aws.Int64(1 << 20)}}
	for name, c := range map[string]struct {
		rule types.LifecycleRule
		code string
	}{
		"all":                  {testkit.ExpireBelow(""), "lifecycle_overlaps"},
		"a shorter prefix":     {testkit.ExpireBelow("ten"), "lifecycle_overlaps"},
		"the exact prefix":     {testkit.ExpireBelow("tenants/"), "lifecycle_overlaps"},
		"one below":            {testkit.ExpireBelow("tenants/" + m.scope.Tenant.String() + "/"), "lifecycle_overlaps"},
		"of another tenant":    {testkit.ExpireBelow("tenants/" + domain.NewID[domain.TenantKind](time.Now()).String() + "/"), "lifecycle_overlaps"},
		"by date":              {byDate, "lifecycle_overlaps"},
		"by size":              {bySize, "lifecycle_overlaps"},
		"disabled":             {disabled, ""},
		"of something else":    {testkit.ExpireBelow("logs/"), ""},
		"of a prefix's cousin": {testkit.ExpireBelow("tenants-of-another/"), ""},
	} {
		testkit.SetLifecycle(t, own, c.rule)
		if c.code != "" {
			m.refused(t, c.code, asked.ID, preview)
		} else if err := preview(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	testkit.SetLifecycle(t, own)
	m.faults.When("the rules", rulesAsked, testkit.Refuse(403, "AccessDenied", 0))
	m.refused(t, "lifecycle_unreadable", asked.ID, preview)
}

func rulesAsked(r *http.Request) bool { return r.Method == "GET" && r.URL.Query().Has("lifecycle") }

// R16: a rule that appears in the middle refuses each act that would go on, and stops
// a run at its next shift, with nothing lost.
func TestARuleThatAppears_RefusesEveryStageAndStopsARun(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	own := m.inOwnBucket(t)
	m.fill(t, "orders", 9)
	before := m.question(t)
	dangerous := testkit.ExpireBelow("tenants/")
	during := func(do func()) {
		testkit.SetLifecycle(t, own, dangerous)
		do()
		testkit.SetLifecycle(t, own)
	}
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	m.baseline(t, shown)
	during(func() {
		m.refused(t, "lifecycle_overlaps", shown.ID, func(ctx context.Context) error {
			_, err := m.api.Approve(ctx, approver, shown.Tenant, shown.ID, plan.Hash)
			return err
		})
	})
	if _, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash); err != nil {
		t.Fatal(err)
	}
	during(func() {
		m.refused(t, "lifecycle_overlaps", shown.ID, func(ctx context.Context) error {
			_, err := m.api.Activate(ctx, planner, shown.Tenant, shown.ID, plan.Hash)
			return err
		})
	})
	a, err := m.api.Activate(t.Context(), planner, shown.Tenant, shown.ID, plan.Hash)
	if err != nil {
		t.Fatal(err)
	}
	during(func() {
		m.refused(t, "lifecycle_overlaps", shown.ID, func(ctx context.Context) error {
			_, err := m.api.Run(ctx, planner, a.Tenant, a.ID, a.PlanHash)
			return err
		})
	})
	run := m.openRun(t, a.Migration)
	m.step(t, a.Migration, "orders")
	for _, want := range []string{LifecycleUnsafe, LifecycleUnreadable} {
		if want == LifecycleUnsafe {
			testkit.SetLifecycle(t, own, dangerous)
		} else {
			testkit.SetLifecycle(t, own)
			m.faults.AtRandom(1, 1, func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				if rulesAsked(r) {
					return testkit.Refuse(403, "AccessDenied", 0)(r, pass)
				}
				return pass()
			})
		}
		if ended := m.worked(t, m.Service, run); ended.Outcome != OutcomeStopped {
			t.Errorf("the run is %+v", ended)
		}
		if now := m.now(t, shown.ID); now.State != Stopped || now.Stop.Category != want {
			t.Errorf("the migration is %s for %+v, want %s", now.State, now.Stop, want)
		}
		if at := m.total(t, a.Migration); at.Passes != 1 {
			t.Errorf("the totals are %+v", at)
		}
		testkit.SetLifecycle(t, own)
		m.faults.AtRandom(0, 0)
		m.unchanged(t, before)
		if err := m.resume(t.Context(), m.now(t, shown.ID)); err != nil {
			t.Fatal(err)
		}
		run = m.openRun(t, m.now(t, shown.ID))
	}
	m.finish(t, shown.ID)
	m.unchanged(t, before)
}

// Behind the point of no return there is no other plan to make. So a rule that can't
// delete bodies, and came in the middle of an activation, doesn't keep it from its
// end; one that can does.
func TestActivate_GoesOnBesideAHarmlessRule(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	own := m.inOwnBucket(t)
	m.fill(t, "orders", 2)
	approved := m.approved(t, m.ask(t, RecordBodies))
	activate := func(ctx context.Context) error {
		_, err := m.api.Activate(ctx, planner, approved.Tenant, approved.ID, approved.PlanHash)
		return err
	}
	harmless := testkit.ExpireBelow("logs/")
	testkit.SetLifecycle(t, own, harmless)
	m.refused(t, "plan_drifted", approved.ID, activate)
	testkit.SetLifecycle(t, own)
	if _, err := m.api.commence(t.Context(), planner, &approved); err != nil {
		t.Fatal(err)
	}
	testkit.SetLifecycle(t, own, testkit.ExpireBelow("ten"))
	m.refused(t, "lifecycle_overlaps", approved.ID, activate)
	testkit.SetLifecycle(t, own, harmless)
	if err := activate(t.Context()); err != nil {
		t.Errorf("beside a harmless rule: %v", err)
	}
}
