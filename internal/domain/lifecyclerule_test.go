package domain_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func TestLifecycleRule_EndangersWhatItOverlaps(t *testing.T) {
	t.Parallel()
	const bodies = "tenants/t1/"
	for prefix, want := range map[string]bool{
		"":                       true,
		"tenants/":               true,
		"tenants/t":              true,
		"tenants/t1/":            true,
		"tenants/t1/collections": true,
		"tenants/t2/":            false,
		"tmp/":                   false,
		"Tenants/":               false, // keys are exact
		"/tenants/":              false,
	} {
		rule := domain.LifecycleRule{Prefix: prefix, Enabled: true, Deletes: true}
		if got := rule.Endangers(bodies); got != want {
			t.Errorf("prefix %q: %t, want %t", prefix, got, want)
		}
		for _, harmless := range []domain.LifecycleRule{{Prefix: prefix, Deletes: true}, {Prefix: prefix, Enabled: true}} {
			if harmless.Endangers(bodies) {
				t.Errorf("%+v endangers bodies", harmless)
			}
		}
	}
}
