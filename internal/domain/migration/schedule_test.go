package migration

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// event is something that happens to a migration, with a number that says to which
// record, at which exchange, or in which of a few ways.
type event struct {
	name string
	n    int
}

var schedules = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
	return event{rapid.SampledFrom(slices.Sorted(maps.Keys(happens))).Draw(t, "event"), rapid.IntRange(0, 1<<16).Draw(t, "number")}
}), 6, 12)

// scheduled is how many schedules are drawn: some, or as many as
// HOLDFAST_TEST_SCHEDULES says.
func scheduled(t *testing.T) int {
	text := os.Getenv("HOLDFAST_TEST_SCHEDULES")
	if text == "" {
		return 12
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HOLDFAST_TEST_SCHEDULES is %q", text)
	}
	return n
}

// Whatever happens to a migration, in whatever order, readers are told what the last
// publication of each record made of it, and the migration comes to its close.
func TestSchedules_ReadersSeeOnlyWhatIsPublished_AndAllIsDrained(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	own := m.inOwnBucket(t)
	all := newMortals(t, m)
	all.bucket = own
	met := map[string]int{}
	for seed := range scheduled(t) {
		kind := []Kind{RecordBodies, Rehydrate}[seed%2]
		events := schedules.Example(seed)
		t.Run(fmt.Sprintf("%d, %s, %v", seed, kind, events), func(t *testing.T) {
			s := &schedule{moving: m.another(t, kind), all: all, bucket: own, kind: kind}
			s.second = s.secondWorker(t)
			s.fill(t, "orders", 8)
			s.before = s.question(t)
			s.of = prepareActive(t, s.moving, kind)
			for _, e := range events {
				happens[e.name](s, t, e.n)
				if met[e.name]++; e.n%3 == 0 {
					s.ask(t)
				}
			}
			s.ask(t)
			s.finish(t, s.of.ID)
			s.ask(t)
			if way := kind.direction(); s.counted(t, fmt.Sprintf("SELECT count(*) FROM %s WHERE tenant_id = $1",
				map[int16]string{record.FormatSQL: "sections_in_sql", record.FormatStore: "sections_in_store"}[way.from]), s.scope.Tenant) != 0 {
				t.Error("rows of the former format are left")
			}
		})
	}
	if len(met) < len(happens) {
		t.Errorf("not everything happened: %v", met)
	}
}

// ask asks the question, and holds the answer to all that was published.
func (s *schedule) ask(t *testing.T) {
	t.Helper()
	s.before.published(t, s.question(t), "orders", s.receipts...)
}

// secondWorker is another process on the test's bucket.
func (s *schedule) secondWorker(t *testing.T) *Service {
	t.Helper()
	second := s.process(t, postgres.RoleWorker, "build-1")
	second.records = s.Service.records
	return second
}
