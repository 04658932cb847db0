package audit_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/audit"
)

// A flood of refusals is bounded for each caller and told in full by its number, and
// hides nobody else's.
func TestRefusals_AFloodIsCounted(t *testing.T) {
	t.Parallel()
	in := install(t)
	refusals := audit.NewRefusals(in.log)
	anonymous := audit.Entry{Operation: "createTenant", Outcome: audit.Refused, Status: 401, Code: "token_missing"}
	for range 500 {
		must(t, refusals.Note(t.Context(), anonymous))
	}
	known := anonymous
	known.Actor, known.Status = &ada, 403
	must(t, refusals.Note(t.Context(), known))
	told := func() (entries, refused, ofAda int64) {
		page, _, err := in.log.Entries(t.Context(), audit.Filter{}, 0, audit.MaxPage)
		must(t, err)
		for _, c := range page {
			e, err := c.Entry()
			must(t, err)
			entries++
			refused += 1 + e.Unwritten
			if e.Actor != nil {
				ofAda++
			}
		}
		return entries, refused, ofAda
	}
	if entries, _, ofAda := told(); entries != 21 || ofAda != 1 {
		t.Errorf("%d entries, %d of ada's", entries, ofAda)
	}
	for range 2 {
		must(t, refusals.Flush(t.Context()))
		if entries, refused, _ := told(); entries != 22 || refused != 501 {
			t.Errorf("%d entries tell of %d refusals", entries, refused)
		}
	}
}
