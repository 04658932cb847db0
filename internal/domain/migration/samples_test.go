package migration

import (
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// paces are what a migration's paces come to when it has moved so much.
func (m *moving) paces(t testing.TB, moved, bytes int64) (of5, of60 *Pace) {
	t.Helper()
	total := &Counters{Moved: moved, Bytes: bytes}
	err := m.api.control.ControlRead(t.Context(), m.scope.Tenant, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		queuePace(batch, &m.plan, total, 5*time.Minute, &of5)
		queuePace(batch, &m.plan, total, time.Hour, &of60)
		return tx.SendBatch(t.Context(), batch).Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return of5, of60
}

// sampled notes how far the migration was some time ago.
func (m *moving) sampled(t testing.TB, ago time.Duration, moved, bytes int64) {
	t.Helper()
	if err := m.sample(t.Context(), &m.plan, Counters{Moved: moved, Bytes: bytes}); err != nil {
		t.Fatal(err)
	}
	_, err := m.in.Admin(t, "control").Exec(t.Context(), `
UPDATE migration_samples SET at = at - $1::interval WHERE at = (SELECT max(at) FROM migration_samples)`, ago)
	if err != nil {
		t.Fatal(err)
	}
}

func wantPace(t testing.TB, name string, got *Pace, records, bytes float64) {
	t.Helper()
	near := func(got, want float64) bool { return math.Abs(got-want) <= want/50 } // the test itself takes its time
	if got == nil || !near(got.Records, records) || !near(got.Bytes, bytes) {
		t.Errorf("the pace of %s is %+v, want %v records and %v bytes a second", name, got, records, bytes)
	}
}

func TestPace_IsOfTheLastMinutes_AndOfTheHour(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	if of5, of60 := m.paces(t, 0, 0); of5 != nil || of60 != nil {
		t.Errorf("of nothing there are paces: %+v, %+v", of5, of60)
	}
	m.sampled(t, 100*time.Minute, 0, 0)
	m.sampled(t, 60*time.Minute, 6_000, 60_000)
	m.sampled(t, 20*time.Minute, 20_000, 200_000)
	m.sampled(t, 5*time.Minute, 36_000, 360_000)
	m.sampled(t, 2*time.Minute, 40_000, 400_000)
	of5, of60 := m.paces(t, 42_000, 420_000)
	wantPace(t, "the last 5 minutes", of5, 6_000/300.0, 60_000/300.0)
	wantPace(t, "the last hour", of60, 36_000/3600.0, 360_000/3600.0)
}

func TestPace_BeginsWithTheFirstSample_AndFallsWhileItRests(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.sampled(t, 0, 100, 100)
	if of5, _ := m.paces(t, 200, 200); of5 != nil {
		t.Errorf("of no time there is a pace: %+v", of5)
	}
	m.sampled(t, time.Minute, 0, 0)
	of5, of60 := m.paces(t, 600, 6_000)
	wantPace(t, "the minute that there was", of5, 10, 100)
	wantPace(t, "the minute that there was", of60, 10, 100)
	if _, err := m.in.Admin(t, "control").Exec(t.Context(), `UPDATE migration_samples SET at = at - interval '40 minutes'`); err != nil {
		t.Fatal(err)
	}
	if of5, _ = m.paces(t, 100, 100); of5 == nil || of5.Records != 0 {
		t.Errorf("at rest the pace is %+v", of5)
	}
}

func TestSample_ForgetsWhatIsOlderThanTwoHours(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.sampled(t, samplesKept+time.Minute, 1, 1)
	m.sampled(t, samplesKept-time.Minute, 2, 2)
	m.sampled(t, 0, 3, 3)
	var kept []int64
	rows, _ := m.in.Admin(t, "control").Query(t.Context(), `SELECT records FROM migration_samples ORDER BY at`)
	kept, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(kept) != 2 || kept[0] != 2 {
		t.Errorf("kept are %v, %v", kept, err)
	}
}
