package fleet_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
)

func TestClose_ClosesAllOrNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sql, says string }{
		"a copy":    {`UPDATE number_gates SET state = 'copy' WHERE number = 4`, "number 4 is copy on data1"},
		"not there": {`DELETE FROM number_gates WHERE number = 4`, "number 4 is not known on data1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.exec(t, "data1", c.sql)
			var refused fleet.RefusedError
			if err := fleet.Close(t.Context(), s.now.Named("data1"), going); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, want %q", err, c.says)
			}
			if n := s.count(t, "data1", "number_gates", `number = 3 AND state = 'open'`); n != 1 {
				t.Error("number 3 is closed")
			}
			for range 2 { // and again
				if err := fleet.Close(t.Context(), s.now.Named("data1"), []domain.Number{3}); err != nil {
					t.Errorf("what it has: %v", err)
				}
			}
		})
	}
}
