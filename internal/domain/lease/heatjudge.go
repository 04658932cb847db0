package lease

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// heatRow is a world's row, and what a look makes of it.
type heatRow struct {
	world        worldRef
	appends      int64
	waited       time.Duration // of all appends together
	measuredAt   time.Time
	band         Band
	since        time.Time
	spillAdvised bool

	rate float64       // since measuredAt
	wait time.Duration // likewise
}

// judge makes of what was counted since measuredAt the band from now on.
func (r *heatRow) judge(now time.Time) {
	r.rate = float64(r.appends) / now.Sub(r.measuredAt).Seconds()
	r.wait = 0
	if r.appends > 0 {
		r.wait = r.waited / time.Duration(r.appends)
	}
	if band := bandOf(r.rate, r.wait); band != r.band {
		r.band, r.since = band, now
	}
	if r.band == BandNone {
		r.spillAdvised = false
	}
	r.appends, r.waited, r.measuredAt = 0, 0, now
}

// advice is what to say to whoever holds, "" for nothing: spill once as long as the
// heat lasts, handback once it has been gone for long enough.
func (r *heatRow) advice() string {
	switch {
	case r.band == BandHot && !r.spillAdvised:
		return AdviseSpill
	case r.calm():
		return AdviseHandback
	}
	return ""
}

// calm tells that the world needn't be watched any more.
func (r *heatRow) calm() bool { return r.band == BandNone && r.measuredAt.Sub(r.since) >= calmFor }

// sqlTakeHeat takes rows that nobody else judges at the moment.
const sqlTakeHeat = `
SELECT p.number, p.world_id, h.appends, h.waited_us, h.measured_at, h.band, h.since, h.spill_advised, clock_timestamp()
  FROM unnest($2::smallint[], $3::text[]) AS p (number, world_id)
 CROSS JOIN LATERAL (SELECT h.* FROM world_heat h
                      WHERE h.tenant_id = $1 AND h.number = p.number AND h.world_id = p.world_id
                        AND h.measured_at <= clock_timestamp() - $4::interval
                        FOR NO KEY UPDATE SKIP LOCKED) h`

// sqlJudgeHeat is of one world: joined with many, a plan that was made while there
// were few would read all of the tenant's.
const sqlJudgeHeat = `
UPDATE world_heat
   SET appends = 0, waited_us = 0, measured_at = $4, rate = $5, mean_wait_us = $6, band = $7, since = $8, spill_advised = $9
 WHERE tenant_id = $1 AND number = $2 AND world_id = $3`

// judgeSome judges the heat of some worlds of a number by what was counted since the
// last time, and then advises. A window is judged by one worker; if that dies before
// it has advised, the next window's does.
func (s *Service) judgeSome(ctx context.Context, tenant domain.TenantID, worlds []worldRef) (int, error) {
	asked := refColumns(worlds)
	var taken []*heatRow
	e := s.entry(tenant, worlds[0].number)
	e.Unsynced = true
	err := tenancy.Run(ctx, s.router.Database(worlds[0].number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlTakeHeat, asked.numbers, asked.ids, heatWindow).Query(func(rows pgx.Rows) (err error) {
			taken, err = pgx.CollectRows(rows, scanHeat)
			return err
		})
		if err := tx.Send(ctx); err != nil {
			return err
		}
		for _, r := range taken {
			tx.Queue(sqlJudgeHeat, int16(r.world.number), r.world.id, r.measuredAt, r.rate, r.wait.Microseconds(), string(r.band), r.since, r.spillAdvised)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(taken), s.adviseAll(ctx, tenant, taken)
}

// scanHeat reads a row and judges it.
func scanHeat(row pgx.CollectableRow) (*heatRow, error) {
	r := &heatRow{}
	var waited int64
	var now time.Time
	err := row.Scan(&r.world.number, &r.world.id, &r.appends, &waited, &r.measuredAt, &r.band, &r.since, &r.spillAdvised, &now)
	r.waited = time.Duration(waited) * time.Microsecond
	r.judge(now)
	return r, err
}

const sqlForgetHeat = `DELETE FROM world_heat WHERE tenant_id = $1 AND number = $2 AND world_id = $3 AND band = 'none' AND appends = 0`

const sqlSpillAdvised = `
UPDATE world_heat SET spill_advised = true WHERE tenant_id = $1 AND number = $2 AND world_id = $3`

// adviseAll journals what there is to say, and forgets the worlds that are calm.
// What makes an advice the only one is committed with it.
func (s *Service) adviseAll(ctx context.Context, tenant domain.TenantID, judged []*heatRow) error {
	var decisions []*decision
	var calm []worldRef
	for _, r := range judged {
		advise := r.advice()
		if advise == "" {
			continue
		}
		once := sqlSpillAdvised
		if r.calm() {
			once, calm = sqlForgetHeat, append(calm, r.world)
		}
		decisions = append(decisions, &decision{world: r.world, decide: func(w *locked) error {
			w.advise(r.band, advise, func(tx *tenancy.Tx) { tx.Queue(once, int16(r.world.number), r.world.id) })
			return nil
		}})
	}
	if len(decisions) == 0 {
		return nil
	}
	db := s.router.Database(judged[0].world.number)
	var err error
	for _, failed := range s.decideEach(ctx, db, tenant, decisions) {
		if !errors.Is(failed, errNoWorld) {
			err = errors.Join(err, failed)
		}
	}
	if err != nil || len(calm) == 0 {
		return err
	}
	e := s.entry(tenant, calm[0].number)
	e.Unsynced = true
	return tenancy.Run(ctx, db, e, func(_ context.Context, tx *tenancy.Tx) error {
		for _, world := range calm { // nobody was there to be advised, or nobody wanted to be
			tx.Queue(sqlForgetHeat, int16(world.number), world.id)
		}
		return nil
	})
}
