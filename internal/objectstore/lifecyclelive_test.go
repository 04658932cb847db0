package objectstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestLifecycle_ReadsTheStoresLiveRules(t *testing.T) {
	t.Parallel()
	s := testkit.OwnBucket(t)
	b := testkit.OpenBodies(t, s)
	wantRules := func(want ...domain.LifecycleRule) {
		t.Helper()
		got, err := b.Lifecycle(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v; rules (-want +got):\n%s", err, diff)
		}
	}
	wantRules()
	testkit.SetLifecycle(t, s, testkit.ExpireBelow("tenants/"))
	wantRules(domain.LifecycleRule{
		ID: "expire", Enabled: true, Deletes: true, Prefix: "tenants/",
		Actions: []string{`Expiration(Days="1")`}, Conditions: []string{`Filter(Prefix="tenants/")`},
	})
	testkit.SetLifecycle(t, s)
	wantRules()
}
