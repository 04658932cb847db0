package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// A worker takes off what has had its time, and what is left verifies.
func TestAuditCut_TakesOffWhatHasHadItsTime(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	store := tenancy.NewStore(b.Router(t, postgres.RoleAPI).Control(), nil, nil, time.Now)
	now := time.Now().Add(-audit.Kept - 48*time.Hour)
	log := audit.New(store, nil, func() time.Time { return now })
	for i := range 4 {
		if i == 3 {
			now = time.Now()
		}
		if _, err := log.Append(t.Context(), audit.Entry{Operation: "x", Outcome: audit.Refused}); err != nil {
			t.Fatal(err)
		}
	}
	b.runner(t, &fakeIdentity{}, nil)
	var lines []string
	await(t, "the old entries are gone", func() bool {
		page, _, err := log.Entries(t.Context(), audit.Filter{}, 0, audit.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		lines = nil
		for _, c := range page {
			lines = append(lines, string(c.AppendJSON(nil)))
		}
		return len(page) == 2
	})
	v, err := audit.Verify(strings.NewReader(strings.Join(lines, "\n")), nil)
	if err != nil || v.Fault != nil || v.First != 4 || v.Last != 5 {
		t.Errorf("%+v %v", v, err)
	}
}
