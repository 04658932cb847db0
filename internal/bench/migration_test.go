package bench

import (
	"context"
	"testing"
	"time"
)

// in is so many operations in so many seconds.
func in(seconds, operations int) Result {
	return Result{Operations: operations, Elapsed: time.Duration(seconds) * time.Second}
}

func TestTenths_EachIsHeldToTheLoopsAroundIt(t *testing.T) {
	t.Parallel()
	times := tenthTimes{
		moved: []Result{in(1, 90), in(2, 100), in(1, 40)},
		loops: []Result{in(1, 120), in(1, 80), in(1, 40), in(1, 40)},
	}
	outcomes := times.outcomes(Cost{})
	if got, want := outcomes[0].Against[0].Ratios, []float64{50. / 60, 90. / 100, 1}; !near(got, want) {
		t.Errorf("the tenths have %v of the loops around them, want %v", got, want)
	}
	if !outcomes[0].Against[0].Reached() || outcomes[0].Rate != 50 {
		t.Errorf("the median tenth is %+v", outcomes[0])
	}
	raw, evened := outcomes[1].Against[0], outcomes[1].Against[1]
	if !near(raw.Ratios, []float64{40. / 90}) || raw.Reached() {
		t.Errorf("the last tenth beside the first is %v, reached %v", raw.Ratios, raw.Reached())
	}
	if !near(evened.Ratios, []float64{1 / 0.9}) {
		t.Errorf("on an even machine it is %v", evened.Ratios)
	}
}

func near(got, want []float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] < want[i]-1e-9 || got[i] > want[i]+1e-9 {
			return false
		}
	}
	return true
}

func TestMoved_IsTimedByTheDatabase(t *testing.T) {
	t.Parallel()
	at := time.Now()
	rate := moved{records: 700, at: at.Add(2 * time.Second)}.since(moved{records: 100, at: at}).Rate()
	if rate != 300 {
		t.Errorf("600 records in two seconds are %v/s", rate)
	}
}

func TestMigration_RefusesWhatCannotBeTimed(t *testing.T) {
	t.Parallel()
	for _, o := range []MigrationOptions{{Records: leastToMove - 1, Length: time.Second}, {Records: leastToMove, Length: time.Second / 2}} {
		if _, err := Migration(context.Background(), o); err == nil {
			t.Errorf("%+v was begun", o)
		}
	}
}
