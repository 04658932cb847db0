package lease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	heatEvery   = 10 * time.Second // between two times that a process adds what it has counted
	maxCounted  = 1024             // worlds of one number that a process counts; the others are counted the next time
	maxShared   = 1000             // worlds of one database that it adds at once: the busiest
	worthAppend = 40               // entries in heatEvery: a fiftieth of what warns, since many processes may count
	worthWait   = warningWait / 2  // on average, of at least worthFew entries
	worthFew    = 10
)

// thermometer counts what a process appends, by world. Its locks are by number, and
// held for an addition.
type thermometer struct {
	since   time.Time
	sharing sync.Mutex // one at a time shares, and moves since on
	counts  [domain.Numbers]heatCounts
}

type heatCounts struct {
	mu     sync.Mutex
	worlds map[heatKey]*heatCount
}

type heatKey struct {
	tenant domain.TenantID
	world  worldRef
}

// heatCount is of one world, since the last time that it was shared.
type heatCount struct {
	appends int64         // entries
	waited  time.Duration // of all of them together: as long as their call
}

func newThermometer() *thermometer { return &thermometer{since: time.Now()} }

// count notes that one call has appended so many entries, and how long that took
// from its arrival until they were committed.
func (t *thermometer) count(tenant domain.TenantID, world worldRef, entries int, began time.Time) {
	waited := time.Since(began)
	c := &t.counts[world.number]
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := c.worlds[heatKey{tenant, world}]
	if counted == nil {
		if len(c.worlds) >= maxCounted {
			return
		}
		if c.worlds == nil {
			c.worlds = map[heatKey]*heatCount{}
		}
		counted = &heatCount{}
		c.worlds[heatKey{tenant, world}] = counted
	}
	counted.appends += int64(entries)
	counted.waited += waited * time.Duration(entries)
}

// sharedHeat is a count that is worth adding to what others have counted.
type sharedHeat struct {
	key   heatKey
	count *heatCount
}

// take gives the counts of numbers that are worth it, the busiest first, and begins
// them all anew.
func (t *thermometer) take(numbers []domain.Number) (worth []sharedHeat) {
	for _, number := range numbers {
		c := &t.counts[number]
		c.mu.Lock()
		taken := c.worlds
		c.worlds = nil
		c.mu.Unlock()
		for key, count := range taken {
			if count.appends >= worthAppend || count.appends >= worthFew && count.waited/time.Duration(count.appends) >= worthWait {
				worth = append(worth, sharedHeat{key, count})
			}
		}
	}
	slices.SortFunc(worth, func(a, b sharedHeat) int {
		return cmp.Or(cmp.Compare(b.count.waited, a.count.waited), cmp.Compare(b.count.appends, a.count.appends))
	})
	return worth[:min(len(worth), maxShared)]
}

// sqlAddHeat: a world that is new here was counted for a little while already. The
// rows are locked in one order, whoever adds.
const sqlAddHeat = `
INSERT INTO world_heat AS w (tenant_id, number, world_id, appends, waited_us, measured_at, rate, mean_wait_us, band, since, spill_advised)
SELECT h.tenant_id, h.number, h.world_id, h.appends, h.waited_us, clock_timestamp() - $6::interval, 0, 0, 'none', clock_timestamp() - $6::interval, false
  FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[]) AS h (tenant_id, number, world_id, appends, waited_us)
  JOIN number_gates g ON g.number = h.number AND g.state = 'open'
 ORDER BY h.tenant_id, h.number, h.world_id
    ON CONFLICT (tenant_id, number, world_id) DO UPDATE
   SET appends = w.appends + excluded.appends, waited_us = w.waited_us + excluded.waited_us`

// ShareHeat adds what this process has counted to what others have, in one
// statement a database. What can't be added is lost: heat is a measurement.
//
// Errors: unavailable.
func (s *Service) ShareHeat(ctx context.Context) error {
	t := s.heat
	t.sharing.Lock()
	defer t.sharing.Unlock()
	counted := time.Since(t.since)
	t.since = time.Now()
	var failed error
	for _, db := range s.router.Databases() {
		if worth := t.take(db.Numbers); len(worth) > 0 {
			failed = errors.Join(failed, addHeat(ctx, db, worth, counted))
		}
	}
	return failed
}

func addHeat(ctx context.Context, db *postgres.Database, worth []sharedHeat, counted time.Duration) error {
	var tenants [][16]byte
	var numbers []int16
	var worlds []string
	var appends, waited []int64
	for _, h := range worth {
		tenants = append(tenants, h.key.tenant)
		numbers = append(numbers, int16(h.key.world.number))
		worlds = append(worlds, h.key.world.id)
		appends = append(appends, h.count.appends)
		waited = append(waited, h.count.waited.Microseconds())
	}
	return asOperator(ctx, db, func(batch *pgx.Batch) {
		batch.Queue(sqlUnsynced)
		batch.Queue(sqlAddHeat, tenants, numbers, worlds, appends, waited, counted)
	})
}

// MeasureHeat shares heat every ten seconds until ctx ends, and returns nil then.
// failed is told of what was lost.
func (s *Service) MeasureHeat(ctx context.Context, failed func(error)) error {
	tick := time.NewTicker(heatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.ShareHeat(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
}
