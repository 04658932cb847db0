package record

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// newClocked is a keeper whose databases' clocks the test sets.
func newClocked(t testing.TB, format int16) *keeper {
	t.Helper()
	k := newKeeper(t, format)
	testkit.OwnClocks(t, k.router, k.admin)
	return k
}

// advance sets the clock of each database on, or back.
func (k *keeper) advance(t testing.TB, by time.Duration) {
	t.Helper()
	k.everywhere(t, testkit.AdvanceClock, by)
}
